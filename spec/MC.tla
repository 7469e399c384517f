--------------------------------- MODULE MC ---------------------------------
(* Bounds for TLC, and the witnesses: each says that something never happens, and each must be VIOLATED. *)
EXTENDS Ledger

CONSTANTS a, b, c

Require     == [kind |-> "required", n |-> 0]
All         == [kind |-> "all", n |-> 0]
Quorum1     == [kind |-> "quorum", n |-> 1]
Quorum2     == [kind |-> "quorum", n |-> 2]
AllPolicies == {Require, All, Quorum1}
TwoPolicies == {All, Quorum1}
NoPolicies  == {}

OneAtATime  == [l \in Lanes |-> 1]
TwoOnA      == [l \in Lanes |-> IF l = a THEN 2 ELSE 1]
TwoOnEach   == [l \in Lanes |-> 2]

NoOperations  == {}
AllOperations == {"add", "remove", "policy", "roll_back_lane", "roll_back"}
Membership    == {"add", "remove", "policy"}
GoingBack     == {"roll_back_lane", "roll_back"}
OnlyPipelineBack == {"roll_back"}

Restarting(l) == Crashed /\ l \in lanes /\ persisted.delivered[l] # None

NeverAckOutOfOrder         == \A l \in Lanes : pending_acks[l] = {}
NeverRejectOccurs          == \A l \in Lanes : h_rejected[l] = {}
NeverQuorumPassesALane     == \A l \in lanes : delivered[l] >= committed
NeverFrozenByHold          == \A l \in Lanes : held[l] = {} \/ queued[l] = {}

NeverHoldOccurs            == [][\A l \in Lanes, x \in Batches : ~Hold(l, x)]_vars
NeverRetryOccurs           == [][\A l \in Lanes, x \in Batches : ~Resend(l, x)]_vars
NeverVanishOccurs          == [][\A l \in Lanes, x \in Batches : ~ReportVanished(l, x)]_vars
NeverUnknownOutcomeAcked   == [][\A l \in Lanes : \A x \in h_acked'[l] \ h_acked[l] : x \notin applied[l]]_vars
NeverCheckpointAdvances    == [][persisted'.committed <= persisted.committed]_vars
NeverReleaseOccurs         == [][outbox \subseteq outbox' \/ rollbacks' # rollbacks]_vars
NeverJoiningLaneCatchesUp  == [][\A l \in lanes : since[l] # None /\ committed > 0 /\ delivered'[l] > delivered[l]
                                                  => since'[l] # None]_vars
NeverSinkAheadAtRestart    == [][\A l \in lanes : Restarting(l) => delivered'[l] <= persisted.delivered[l]]_vars
NeverSinkBehindAtRestart   == [][\A l \in lanes : Restarting(l) /\ ~stopped'[l]
                                                  => delivered'[l] >= persisted.delivered[l]]_vars
NeverSinkNotRetained       == [][\A l \in lanes : Restarting(l) => ~stopped'[l]]_vars
NeverRollbackOccurs        == [][committed' >= committed \/ Crashed]_vars
NeverVoidBehindSinkCursor  == [][\A l \in lanes : Restarting(l) => delivered'[l] \notin void]_vars
NeverLaneRedelivers        == [][\A l \in Lanes : rollbacks > 0 => \A x \in h_acked'[l] \ h_acked[l] : x > committed]_vars
NeverForcedStopAbandons    == \A l \in Lanes : stop_record.abandoned[l] = {}
NeverGracefulStop          == ~(stop_record.reason = "graceful" /\ \E l \in lanes : h_acked[l] # {})
NeverGracefulStopRemaining == ~(stop_record.reason = "graceful" /\ \E l \in lanes : stop_record.remaining[l] # {})
NeverRetriedWhileDraining  == [][phase = "draining" => \A l \in Lanes : in_flight'[l] \subseteq in_flight[l]]_vars
NeverPolicyChangeAdvances  == [][policy' # policy => committed' = committed]_vars
NeverRemovedLaneUnpins     == [][lanes' \subseteq lanes /\ lanes' # lanes => committed' = committed]_vars
NeverCrashAfterAckBeforePersist ==
  [][Crashed => \A l \in lanes \ CursorSinks : \A x \in h_acked[l] : x <= persisted.delivered[l]]_vars
NeverCrashAfterPersistBeforeAcknowledge == [][Crashed => acknowledged >= persisted.committed]_vars
NeverResentAfterDeadLetter == [][\A l \in Lanes : \A x \in h_sent'[l] \ h_sent[l] : x \notin dead_letters[l]]_vars
NeverLateWrite             == \A written \in decided, l \in lanes : written.delivered[l] # None
=============================================================================
