------------------------------- MODULE Ledger -------------------------------
(***************************************************************************)
(* The heart of Holdfast: which batches are delivered, what is committed,  *)
(* what the sources are told, and what may be forgotten.                   *)
(*                                                                         *)
(* The module describes src/holdfast/ledger and the little shell around    *)
(* it that executes decisions.  Variables carry the names of the code's    *)
(* fields.  The variables under "The world" survive a crash.  Those under  *)
(* "History" are written by actions and read by properties only: they say  *)
(* what really happened, so that a property does not repeat the ledger's   *)
(* own bookkeeping.                                                        *)
(*                                                                         *)
(* `Bug' switches one wrong line on.  With Bug = "none" every property     *)
(* holds; each other value must break the property named in MCSabotage.    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Lanes,          \* names of sinks that may ever be declared
  InitialLanes,   \* those declared at the first start
  Required,       \* those the policy `required' waits for
  MaxInflight,    \* [Lanes -> 1..]: how many batches may be unresolved at once
  CursorSinks,    \* sinks that keep a cursor inside themselves
  StartsNow,      \* lanes declared with start: now; the others start at earliest
  InitialPolicy,
  Policies,       \* what an operator may change the policy to
  Operations,     \* which of the operator's operations are possible
  MaxBatches, MaxFaults, MaxCrashes, MaxChanges,
  CountFaults,    \* FALSE: faults are unlimited (only with strong fairness on answers)
  Bug

VARIABLES
  \* The ledger: lost in a crash.
  phase, policy, committed, rollbacks, stop_record,
  told,           \* Ledger._told: up to which batch `Acknowledge' was decided
  telling,        \* the batch of an `Acknowledge' that was decided and is not yet executed, or None
  released,       \* Batches.released: up to which batch `Release' was decided
  lanes,          \* the lanes there are: the keys of Ledger.lanes
  delivered, since, stopped, queued, in_flight, retrying, held,
  dead_lettering, pending_acks, vanished,
  decided,        \* the cursors handed out with `WriteCursors' and not yet written: a set of one or none
  \* The world: survives a crash.
  last_oseq, outbox, trimmed, persisted, dead_letters, sink_cursor,
  acknowledged,   \* up to which batch the sources were really told
  \* History: read by properties only.
  applied,        \* [Lanes -> batches the sink really has]
  refused,        \* [Lanes -> batches the sink ever refused for good]
  base,           \* [Lanes -> the batch after which everything is owed to the sink]
  void,           \* batches taken back by a rollback
  h_offered, h_sent, h_acked, h_rejected, h_twice,   \* per lane, since it was opened
  durable_committed,                                 \* the highest committed ever persisted
  \* Budgets, which keep the model finite.
  faults, crashes, changes

ledgerVars  == <<phase, policy, committed, rollbacks, stop_record, told, telling, released>>
placeVars   == <<queued, in_flight, retrying, held, dead_lettering, pending_acks, vanished>>
laneVars    == <<lanes, delivered, since, stopped, placeVars>>
worldVars   == <<last_oseq, outbox, trimmed, persisted, dead_letters, sink_cursor, acknowledged>>
laneHistory == <<h_offered, h_sent, h_acked, h_rejected, h_twice>>
history     == <<applied, refused, base, void, laneHistory, durable_committed>>
budgets     == <<faults, crashes, changes>>
vars        == <<ledgerVars, laneVars, decided, worldVars, history, budgets>>

None    == -1
Batches == 1..MaxBatches
Oseq    == 0..MaxBatches

Max(S)    == CHOOSE x \in S : \A y \in S : y <= x
Min(S)    == CHOOSE x \in S : \A y \in S : x <= y
Larger(x, y)  == IF x > y THEN x ELSE y
Smaller(x, y) == IF x < y THEN x ELSE y

Nothing == [l \in Lanes |-> {}]
NoStop  == [reason |-> "none", remaining |-> Nothing, abandoned |-> Nothing]

-----------------------------------------------------------------------------
(* What the ledger knows of a lane. *)

Unresolved(l) == in_flight[l] \cup retrying[l] \cup held[l] \cup dead_lettering[l]
Counts(l)     == since[l] = None
Retained      == {b \in outbox : b > released}

\* The policy as an order statistic, and None while no number can meet it.
NthHighest(S, n, D) ==
  IF Cardinality(S) < n THEN None
  ELSE Max({x \in {D[l] : l \in S} : Cardinality({l \in S : D[l] >= x}) >= n})

Lowest(S, D) == IF S = {} THEN None ELSE Min({D[l] : l \in S})

Prefix(p, L, D, S) ==
  LET counting == {l \in L : S[l] = None} IN
  CASE Bug = "policy_takes_the_highest" /\ counting # {} -> Max({D[l] : l \in counting})
    [] p.kind = "required" -> Lowest(counting \cap Required, D)
    [] p.kind = "all"      -> Lowest(counting, D)
    [] p.kind = "quorum"   -> NthHighest(counting, p.n, D)

\* check_policy: these lanes are enough for the policy.
Suffice(p, L) ==
  CASE p.kind = "required" -> L \cap Required # {}
    [] p.kind = "all"      -> L # {}
    [] p.kind = "quorum"   -> Cardinality(L) >= p.n

\* ... and so are those of them that count, or will once they have delivered what is committed.
CanBeMet(p, L, S, c) == Suffice(p, {l \in L : S[l] <= c})
Accepted(p, L) == Suffice(p, L) /\ (Bug = "policy_unreachable" \/ CanBeMet(p, L, since, committed))

\* Ledger._settle: bring committed up to the policy; a lane that reaches over committed counts from then on, and
\* that may meet the policy further up.
RECURSIVE Settled(_, _, _, _, _)
Settled(p, L, D, S, c) ==
  LET c1 == Larger(c, Prefix(p, L, D, S))
      S1 == [l \in Lanes |-> IF \/ S[l] <= c1 /\ c1 <= D[l]
                                \/ Bug = "new_lane_counts_at_once" THEN None ELSE S[l]]
  IN IF Bug = "settle_once" \/ (c1 = c /\ S1 = S) THEN [committed |-> c1, since |-> S1]
     ELSE Settled(p, L, D, S1, c1)

\* lane_start: a cursor inside the sink wins over ours, both ways.
StartOf(l, ours, sinks) ==
  CASE sinks[l] # None -> sinks[l]
    [] sinks[l] = None /\ ours[l] # None -> ours[l]
    [] OTHER -> IF l \in StartsNow THEN last_oseq ELSE 0

RestartPoint(l) == StartOf(l, persisted.delivered, sink_cursor)

\* Ledger.cursors: what is written in one atomic write.
CursorsOf(L, D, S, c, r, s) ==
  [delivered |-> [l \in Lanes |-> IF l \in L THEN D[l] ELSE None],
   joining   |-> [l \in Lanes |-> IF l \in L THEN S[l] ELSE None],
   committed |-> c, rollbacks |-> r, stop |-> s]
Cursors == CursorsOf(lanes, delivered, since, committed, rollbacks, stop_record)

\* What the shell owes: nothing is created or sent before the cursors on disk name every lane and no old stop.
Opened  == \/ persisted.stop = NoStop /\ \A l \in lanes : persisted.delivered[l] # None
           \/ Bug \in {"work_before_first_write", "release_by_memory"}
\* ... and a lane is removed, or the policy changed, on cursors that are on disk.
Durable == decided = {} /\ persisted = Cursors

Opening(l, from, places) ==   \* a lane begins, or begins anew, after `from'
  /\ delivered'      = [delivered EXCEPT ![l] = from]
  /\ queued'         = [queued EXCEPT ![l] = places]
  /\ pending_acks'   = [pending_acks EXCEPT ![l] = {}]
  /\ h_offered'      = [h_offered EXCEPT ![l] = places]
  /\ h_sent'         = [h_sent EXCEPT ![l] = {}]
  /\ h_acked'        = [h_acked EXCEPT ![l] = {}]
  /\ h_rejected'     = [h_rejected EXCEPT ![l] = {}]
  /\ UNCHANGED h_twice

-----------------------------------------------------------------------------
Init ==
  /\ phase = "running" /\ policy = InitialPolicy /\ committed = 0 /\ rollbacks = 0 /\ stop_record = NoStop
  /\ told = 0 /\ telling = None /\ released = 0 /\ decided = {}
  /\ lanes = InitialLanes
  /\ delivered = [l \in Lanes |-> 0]
  /\ since     = [l \in Lanes |-> None]
  /\ stopped   = [l \in Lanes |-> FALSE]
  /\ queued = Nothing /\ in_flight = Nothing /\ retrying = Nothing /\ held = Nothing
  /\ dead_lettering = Nothing /\ pending_acks = Nothing /\ vanished = Nothing
  /\ last_oseq = 0 /\ outbox = {} /\ trimmed = 0 /\ acknowledged = 0
  /\ persisted = CursorsOf({}, delivered, since, 0, 0, NoStop)
  /\ dead_letters = Nothing /\ sink_cursor = [l \in Lanes |-> None]
  /\ applied = Nothing /\ refused = Nothing /\ base = [l \in Lanes |-> 0] /\ void = {}
  /\ h_offered = Nothing /\ h_sent = Nothing /\ h_acked = Nothing /\ h_rejected = Nothing /\ h_twice = Nothing
  /\ durable_committed = 0
  /\ faults = 0 /\ crashes = 0 /\ changes = 0

-----------------------------------------------------------------------------
(* Batches and tickets *)

Create ==
  /\ phase = "running" \/ (Bug = "create_while_draining" /\ phase = "draining")
  /\ Opened /\ last_oseq < MaxBatches
  /\ last_oseq' = last_oseq + 1
  /\ outbox' = outbox \cup {last_oseq'}
  /\ LET given == {l \in lanes : ~(Bug = "offer_skips_held_lane" /\ held[l] # {})} IN
     queued' = [l \in Lanes |-> IF l \in given THEN queued[l] \cup {last_oseq'} ELSE queued[l]]
  /\ h_offered' = [l \in Lanes |-> IF l \in lanes THEN h_offered[l] \cup {last_oseq'} ELSE h_offered[l]]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, in_flight, retrying, held, dead_lettering,
                 pending_acks, vanished, decided, trimmed, persisted, dead_letters, sink_cursor, acknowledged,
                 applied, refused, base, void, h_sent, h_acked, h_rejected, h_twice, durable_committed, budgets>>

\* Ledger.next, then Queued.send: the lowest batch that was never sent.
CanSend(l) ==
  /\ phase = "running" \/ (Bug = "first_send_while_draining" /\ phase = "draining")
  /\ Opened /\ l \in lanes /\ ~stopped[l]
  /\ queued[l] # {} /\ held[l] = {} /\ Cardinality(Unresolved(l)) < MaxInflight[l]
Send(l) ==
  /\ CanSend(l)
  /\ LET b == Min(queued[l]) IN
     /\ queued'    = [queued EXCEPT ![l] = @ \ {b}]
     /\ in_flight' = [in_flight EXCEPT ![l] = @ \cup {b}]
     /\ h_sent'    = [h_sent EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, retrying, held, dead_lettering, pending_acks,
                 vanished, decided, worldVars, applied, refused, base, void, h_offered, h_acked, h_rejected,
                 h_twice, durable_committed, budgets>>

\* A ticket taken before a rollback is used after it.
SendStale(l, b) ==
  /\ Bug = "stale_ticket" /\ phase = "running" /\ l \in lanes /\ b \in void /\ b \notin h_sent[l]
  /\ h_sent' = [h_sent EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, laneVars, decided, worldVars, applied, refused, base, void, h_offered, h_acked,
                 h_rejected, h_twice, durable_committed, budgets>>

\* Ledger.retry: a held batch, or one whose dead letters could not be written, may be sent again.
RetryAllowed == /\ phase # "stopped" /\ ~(Bug = "no_retry_while_draining" /\ phase = "draining")
                /\ Bug # "held_for_ever"
Retry(l, b) ==
  /\ RetryAllowed
  /\ b \in held[l] \cup (dead_lettering[l] \ dead_letters[l])
  /\ held'           = [held EXCEPT ![l] = @ \ {b}]
  /\ dead_lettering' = [dead_lettering EXCEPT ![l] = @ \ {b}]
  /\ retrying'       = [retrying EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, in_flight, pending_acks, vanished,
                 decided, worldVars, history, budgets>>

Resend(l, b) ==
  /\ phase # "stopped"
  /\ b \in retrying[l]
  /\ retrying'  = [retrying EXCEPT ![l] = @ \ {b}]
  /\ in_flight' = [in_flight EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, held, dead_lettering, pending_acks,
                 vanished, decided, worldVars, history, budgets>>

-----------------------------------------------------------------------------
(* Answers *)

\* The lane's rule.  `b' is answered; consume from the lowest pending on while nothing lower is unresolved.
Resolve(l, b) ==
  LET pending  == pending_acks[l] \cup {b}
      waiting  == Unresolved(l) \ {b}
      consumed == {p \in pending : Bug = "past_unresolved" \/ \A u \in waiting : u > p}
      D        == [delivered EXCEPT ![l] = IF consumed = {} THEN @ ELSE Max(consumed \cup {@})]
      settled  == Settled(policy, lanes, D, since, committed)
  IN /\ pending_acks' = [pending_acks EXCEPT ![l] = pending \ consumed]
     /\ delivered' = D
     /\ IF consumed = {} THEN UNCHANGED <<committed, since>>
        ELSE committed' = settled.committed /\ since' = settled.since
     /\ telling' = IF Bug = "acknowledge_before_write" /\ committed' > told THEN committed' ELSE telling
     /\ UNCHANGED <<phase, policy, rollbacks, stop_record, told, released, lanes, stopped>>

\* The sink has taken the batch, whether or not we hear of it.  A cursor kept inside the sink moves with the rows.
Effect(l, b) ==
  /\ applied'     = [applied EXCEPT ![l] = @ \cup {b}]
  /\ sink_cursor' = IF l \in CursorSinks THEN [sink_cursor EXCEPT ![l] = Larger(@, b)] ELSE sink_cursor
NoEffect == UNCHANGED <<applied, sink_cursor>>

Fault == /\ faults < MaxFaults
         /\ faults' = IF CountFaults THEN faults + 1 ELSE faults
         /\ UNCHANGED <<crashes, changes>>

Answerable(l, b) == b \in in_flight[l] \ vanished[l]

\* Rows that are recorded as rejected are never sent again, so such a batch is not acknowledged but rejected again.
Ack(l, b) ==
  /\ Answerable(l, b) /\ b \notin dead_letters[l]
  /\ in_flight' = [in_flight EXCEPT ![l] = @ \ {b}]
  /\ Resolve(l, b) /\ Effect(l, b)
  /\ h_acked' = [h_acked EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<queued, retrying, held, dead_lettering, vanished, decided, last_oseq, outbox, trimmed,
                 persisted, dead_letters, acknowledged, refused, base, void, h_offered, h_sent, h_rejected,
                 h_twice, durable_committed, budgets>>

\* A used ticket is answered again.
AckTwice(l, b) ==
  /\ Bug = "ticket_used_twice" /\ phase # "stopped" /\ b \in h_acked[l]
  /\ h_twice' = [h_twice EXCEPT ![l] = @ \cup {b}]
  /\ Resolve(l, b)
  /\ UNCHANGED <<queued, in_flight, retrying, held, dead_lettering, vanished, decided, worldVars, applied,
                 refused, base, void, h_offered, h_sent, h_acked, h_rejected, durable_committed, budgets>>

Reject(l, b) ==
  /\ Answerable(l, b) /\ b \notin applied[l]
  /\ IF b \in dead_letters[l] THEN UNCHANGED budgets ELSE Fault
  /\ in_flight'      = [in_flight EXCEPT ![l] = @ \ {b}]
  /\ dead_lettering' = [dead_lettering EXCEPT ![l] = @ \cup {b}]
  /\ refused'        = [refused EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, retrying, held, pending_acks, vanished,
                 decided, worldVars, applied, base, void, laneHistory, durable_committed>>

WriteDeadLetter(l, b) ==
  /\ b \in dead_lettering[l] \ dead_letters[l]
  /\ dead_letters' = [dead_letters EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, laneVars, decided, last_oseq, outbox, trimmed, persisted, sink_cursor, acknowledged,
                 history, budgets>>

\* Rejecting.dead_lettered.  The sink that keeps a cursor has moved it over the rejected batch by then.
DeadLettered(l, b) ==
  /\ b \in dead_lettering[l]
  /\ b \in dead_letters[l] \/ Bug = "cursor_before_dead_letters"
  /\ dead_lettering' = [dead_lettering EXCEPT ![l] = @ \ {b}]
  /\ sink_cursor' = IF l \in CursorSinks /\ Bug # "sink_cursor_skips_rejected"
                    THEN [sink_cursor EXCEPT ![l] = Larger(@, b)] ELSE sink_cursor
  /\ h_rejected' = [h_rejected EXCEPT ![l] = @ \cup {b}]
  /\ Resolve(l, b)
  /\ UNCHANGED <<queued, in_flight, retrying, held, vanished, decided, last_oseq, outbox, trimmed, persisted,
                 dead_letters, acknowledged, applied, refused, base, void, h_offered, h_sent, h_acked, h_twice,
                 durable_committed, budgets>>

\* A passing failure.  The sink may have the batch nevertheless: "commit state unknown".
Fail(l, b) ==
  /\ Answerable(l, b) /\ Fault
  /\ in_flight' = [in_flight EXCEPT ![l] = @ \ {b}]
  /\ retrying'  = [retrying EXCEPT ![l] = @ \cup {b}]
  /\ NoEffect \/ (b \notin dead_letters[l] /\ Effect(l, b))
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, held, dead_lettering, pending_acks,
                 vanished, decided, last_oseq, outbox, trimmed, persisted, dead_letters, acknowledged, refused,
                 base, void, laneHistory, durable_committed>>

Hold(l, b) ==
  /\ Answerable(l, b) /\ Fault
  /\ in_flight' = [in_flight EXCEPT ![l] = @ \ {b}]
  /\ held'      = [held EXCEPT ![l] = @ \cup {b}]
  /\ delivered' = IF Bug = "hold_moves_cursor" THEN [delivered EXCEPT ![l] = b] ELSE delivered
  /\ UNCHANGED <<ledgerVars, lanes, since, stopped, queued, retrying, dead_lettering, pending_acks, vanished,
                 decided, worldVars, history>>

\* A Sending ticket is dropped without an outcome ...
Vanish(l, b) ==
  /\ Answerable(l, b) /\ phase # "stopped" /\ Fault
  /\ vanished' = [vanished EXCEPT ![l] = @ \cup {b}]
  /\ NoEffect \/ (b \notin dead_letters[l] /\ Effect(l, b))
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, in_flight, retrying, held, dead_lettering,
                 pending_acks, decided, last_oseq, outbox, trimmed, persisted, dead_letters, acknowledged, refused,
                 base, void, laneHistory, durable_committed>>

\* ... and the ledger notices when it is next asked for decisions.
ReportVanished(l, b) ==
  /\ b \in vanished[l]
  /\ vanished'  = [vanished EXCEPT ![l] = @ \ {b}]
  /\ in_flight' = [in_flight EXCEPT ![l] = @ \ {b}]
  /\ held'      = IF Bug = "vanished_is_forgotten" THEN held ELSE [held EXCEPT ![l] = @ \cup {b}]
  /\ UNCHANGED <<ledgerVars, lanes, delivered, since, stopped, queued, retrying, dead_lettering, pending_acks,
                 decided, worldVars, history, budgets>>

-----------------------------------------------------------------------------
(* Decisions: cursors are written; only then sources are told and batches released *)

CanHandOut == decided = {} /\ (persisted # Cursors \/ told < persisted.committed)
HandOutCursors ==
  /\ CanHandOut
  /\ decided' = {Cursors}
  /\ UNCHANGED <<ledgerVars, laneVars, worldVars, history, budgets>>

\* How far batches may be forgotten once `c' is on disk: what c says, and what lanes have come to need since.  A lane
\* that c does not name would begin anew after a crash, and needs what it would need then.
Releasable(c) ==
  LET pin(l) == IF c.delivered[l] # None \/ Bug = "release_by_memory" THEN delivered[l]
                ELSE Smaller(delivered[l], StartOf(l, c.delivered, sink_cursor))
      pins  == {pin(l) : l \in lanes}
      named == {c.delivered[l] : l \in {k \in Lanes : c.delivered[k] # None}}
  IN IF Bug = "release_ignores_lanes" THEN c.committed ELSE Min({c.committed} \cup pins \cup named)

Persist ==
  /\ \E written \in decided :
       /\ persisted' = written
       /\ told'      = Larger(told, written.committed)
       /\ telling'   = IF written.committed > told THEN written.committed ELSE telling
       /\ released'  = Larger(released, Releasable(written))
       /\ durable_committed' = Larger(durable_committed, written.committed)
  /\ decided' = {}
  /\ UNCHANGED <<phase, policy, committed, rollbacks, stop_record, laneVars, last_oseq, outbox, trimmed,
                 dead_letters, sink_cursor, acknowledged, applied, refused, base, void, laneHistory, budgets>>

Acknowledge ==
  /\ telling # None
  /\ acknowledged' = Larger(acknowledged, telling)
  /\ telling' = None
  /\ UNCHANGED <<phase, policy, committed, rollbacks, stop_record, told, released, laneVars, decided, last_oseq, outbox, trimmed, persisted, dead_letters, sink_cursor,
                 history, budgets>>

Release ==
  /\ trimmed < released
  /\ trimmed' = released
  /\ outbox'  = {b \in outbox : b > released}
  /\ UNCHANGED <<ledgerVars, laneVars, decided, last_oseq, persisted, dead_letters, sink_cursor, acknowledged,
                 history, budgets>>

-----------------------------------------------------------------------------
(* Stopping *)

Drain ==
  /\ phase = "running"
  /\ phase' = "draining"
  /\ UNCHANGED <<policy, committed, rollbacks, stop_record, told, telling, released, laneVars, decided, worldVars, history,
                 budgets>>

Leave(reason) ==
  /\ phase' = "stopped"
  /\ stop_record' = [reason    |-> reason,
                     remaining |-> [l \in Lanes |-> queued[l]],
                     abandoned |-> [l \in Lanes |-> IF Bug = "abandoned_is_hidden" THEN {} ELSE Unresolved(l)]]
  /\ in_flight' = Nothing /\ retrying' = Nothing /\ held' = Nothing /\ dead_lettering' = Nothing /\ vanished' = Nothing
  /\ UNCHANGED <<policy, committed, rollbacks, told, telling, released, lanes, since, stopped, queued, pending_acks,
                 decided, worldVars, history, budgets>>

CanStop == phase = "draining" /\ (Bug = "stop_with_unresolved" \/ \A l \in lanes : Unresolved(l) = {})
Stop ==
  /\ CanStop
  /\ Leave("graceful") /\ UNCHANGED delivered

ForceStop ==
  /\ phase # "stopped"
  /\ Leave("forced")
  /\ delivered' = IF Bug = "force_moves_cursor"
                  THEN [l \in Lanes |-> IF l \in lanes THEN Max({delivered[l]} \cup Unresolved(l)) ELSE delivered[l]]
                  ELSE delivered

-----------------------------------------------------------------------------
(* A crash, or the end of a stopped process, and the next start *)

\* What travelled may have arrived: `arrived'.  One sink may come back from a backup that ends at `restored'.
Crash(arrived, back, to) ==
  LET has     == [l \in Lanes |-> applied[l] \cup {b \in Batches : <<l, b>> \in arrived}]
      sinks0  == [l \in Lanes |-> IF l \in CursorSinks THEN Max({sink_cursor[l]} \cup
                                      {b \in Batches : <<l, b>> \in arrived}) ELSE None]
      sinks   == [l \in Lanes |-> IF l \in back THEN to ELSE sinks0[l]]
      D       == [l \in Lanes |-> IF l \in lanes THEN StartOf(l, persisted.delivered, sinks) ELSE 0]
      S       == [l \in Lanes |-> CASE l \notin lanes -> None
                                    [] l \in lanes /\ persisted.delivered[l] = None -> D[l]
                                    [] OTHER -> persisted.joining[l]]
      Q       == [l \in Lanes |-> IF l \in lanes THEN {b \in outbox : b > D[l]} ELSE {}]
      settled == Settled(policy, lanes, D, S, persisted.committed)
  IN /\ \A l \in back : to < sinks0[l]
     /\ applied'     = [l \in Lanes |-> IF l \in back THEN {b \in has[l] : b <= to} ELSE has[l]]
     /\ sink_cursor' = sinks
     /\ delivered'   = D
     /\ stopped'     = [l \in Lanes |-> l \in lanes /\ D[l] < trimmed]
     /\ queued'      = Q
     /\ committed'   = settled.committed
     /\ since'       = settled.since
     /\ h_offered'   = Q

CrashRestart ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ \A l \in lanes : ~(StartOf(l, persisted.delivered, sink_cursor) = 0 /\ persisted.delivered[l] = None /\ trimmed > 0)
  /\ LET travelling == {<<l, b>> \in Lanes \X Batches : b \in in_flight[l] \ (applied[l] \cup dead_letters[l])} IN
     \E arrived \in SUBSET travelling :
       \/ Crash(arrived, {}, None) /\ UNCHANGED faults
       \/ \E l \in CursorSinks \cap lanes, to \in Oseq :
            faults < MaxFaults /\ Crash(arrived, {l}, to) /\ faults' = IF CountFaults THEN faults + 1 ELSE faults
  /\ phase' = "running" /\ stop_record' = NoStop /\ rollbacks' = persisted.rollbacks
  /\ told' = IF Bug = "told_at_restart" THEN persisted.committed ELSE 0
  /\ telling' = None
  /\ released' = trimmed /\ decided' = {}
  /\ in_flight' = Nothing /\ retrying' = Nothing /\ held' = Nothing /\ dead_lettering' = Nothing
  /\ pending_acks' = Nothing /\ vanished' = Nothing
  /\ h_sent' = Nothing /\ h_acked' = Nothing /\ h_rejected' = Nothing /\ h_twice' = Nothing
  /\ UNCHANGED <<policy, lanes, last_oseq, outbox, trimmed, persisted, dead_letters, acknowledged, refused, base,
                 void, durable_committed, changes>>

-----------------------------------------------------------------------------
(* What operators do *)

Change(what) == /\ what \in Operations /\ changes < MaxChanges /\ changes' = changes + 1
                /\ UNCHANGED <<faults, crashes>>

AddLane(l) ==
  /\ Change("add") /\ phase = "running" /\ Opened /\ l \notin lanes
  /\ LET from    == StartOf(l, [k \in Lanes |-> None], sink_cursor)
         L       == lanes \cup {l}
         D       == [delivered EXCEPT ![l] = from]
         settled == Settled(policy, L, D, [since EXCEPT ![l] = from], committed)
     IN /\ from >= released \/ sink_cursor[l] # None     \* else refused: NotRetained
        /\ Opening(l, from, {b \in Retained : b > from})
        /\ stopped'   = [stopped EXCEPT ![l] = from < released]
        /\ lanes'     = L
        /\ committed' = settled.committed
        /\ since'     = settled.since
        /\ base'      = [base EXCEPT ![l] = IF sink_cursor[l] = None THEN from ELSE @]
  /\ UNCHANGED <<phase, policy, rollbacks, stop_record, told, telling, released, in_flight, retrying, held, dead_lettering,
                 vanished, decided, worldVars, applied, refused, void, durable_committed>>

RemoveLane(l) ==
  /\ Change("remove") /\ phase = "running" /\ Durable /\ l \in lanes
  /\ Accepted(policy, lanes \ {l})
  /\ LET L       == lanes \ {l}
         settled == Settled(policy, L, delivered, [since EXCEPT ![l] = None], committed)
     IN /\ lanes'     = L
        /\ committed' = settled.committed
        /\ since'     = settled.since
  /\ Opening(l, 0, {})
  /\ stopped'        = [stopped EXCEPT ![l] = FALSE]
  /\ in_flight'      = [in_flight EXCEPT ![l] = {}]
  /\ retrying'       = [retrying EXCEPT ![l] = {}]
  /\ held'           = [held EXCEPT ![l] = {}]
  /\ dead_lettering' = [dead_lettering EXCEPT ![l] = {}]
  /\ vanished'       = [vanished EXCEPT ![l] = {}]
  /\ UNCHANGED <<phase, policy, rollbacks, stop_record, told, telling, released, decided, worldVars, applied, refused, base,
                 void, durable_committed>>

ChangePolicy(p) ==
  /\ Change("policy") /\ phase # "stopped" /\ Durable /\ p # policy
  /\ Accepted(p, lanes)
  /\ policy' = p
  /\ LET settled == Settled(p, lanes, delivered, since, committed) IN
     /\ since' = settled.since
     /\ committed' = IF Bug = "policy_change_lowers_committed" /\ Prefix(p, lanes, delivered, since) # None
                     THEN Prefix(p, lanes, delivered, since) ELSE settled.committed
  /\ UNCHANGED <<phase, rollbacks, stop_record, told, telling, released, lanes, delivered, stopped, placeVars, decided,
                 worldVars, history>>

\* Deliver again to one sink everything after `to'.  A cursor inside the sink is moved back first.
RollBackLane(l, to) ==
  /\ Change("roll_back_lane") /\ phase = "running" /\ l \in lanes
  /\ released <= to /\ to <= delivered[l] /\ Unresolved(l) = {}
  /\ Opening(l, to, {b \in Retained : b > to})
  /\ sink_cursor' = [sink_cursor EXCEPT ![l] = Smaller(@, to)]
  /\ since'       = [since EXCEPT ![l] = Smaller(@, to)]
  /\ rollbacks'   = rollbacks + 1
  /\ UNCHANGED <<phase, policy, committed, stop_record, told, telling, released, lanes, stopped, in_flight, retrying, held,
                 dead_lettering, vanished, decided, last_oseq, outbox, trimmed, persisted, dead_letters,
                 acknowledged, applied, refused, base, void, durable_committed>>

\* Take the pipeline back to `to': later batches are void.  The shell does it under a journalled intent, so outbox and
\* cursors change in one step; numbers are never used again.
RollBack(to) ==
  /\ Change("roll_back") /\ phase = "running" /\ decided = {}
  /\ to \in Retained \cup {released} /\ \A l \in lanes : Unresolved(l) = {}
  /\ LET kept    == {b \in outbox : b <= to}
         D       == [l \in Lanes |-> IF l \in lanes THEN Smaller(delivered[l], to) ELSE delivered[l]]
         S       == [l \in Lanes |-> Smaller(since[l], to)]
         Q       == [l \in Lanes |-> IF l \in lanes THEN {b \in kept : b > D[l] /\ b > released} ELSE {}]
         settled == Settled(policy, lanes, D, S, Smaller(committed, to))
     IN /\ outbox'       = kept
        /\ void'         = void \cup {b \in outbox : b > to}
        /\ delivered'    = D
        /\ queued'       = Q
        /\ h_offered'    = Q
        /\ since'        = settled.since
        /\ committed'    = settled.committed
        /\ rollbacks'    = rollbacks + 1
        /\ persisted'    = CursorsOf(lanes, D, settled.since, settled.committed, rollbacks + 1, stop_record)
  /\ stopped'      = IF Bug = "rollback_revives_stopped" THEN [l \in Lanes |-> FALSE] ELSE stopped
  /\ last_oseq'    = IF Bug = "numbers_used_again" THEN to ELSE last_oseq
  /\ pending_acks' = Nothing
  /\ h_sent' = Nothing /\ h_acked' = Nothing /\ h_rejected' = Nothing /\ h_twice' = Nothing
  /\ UNCHANGED <<phase, policy, stop_record, told, telling, released, lanes, in_flight, retrying, held, dead_lettering,
                 vanished, decided, trimmed, dead_letters, sink_cursor, acknowledged, applied, refused, base,
                 durable_committed>>

-----------------------------------------------------------------------------
Shell == HandOutCursors \/ Persist \/ Acknowledge \/ Release

\* What a lane does with a batch by itself: answers that come at last, and what follows from answers.
Answer(l, b)   == Ack(l, b) \/ (b \in dead_letters[l] /\ Reject(l, b))
FollowUp(l, b) == \/ Retry(l, b) \/ Resend(l, b) \/ ReportVanished(l, b)
                  \/ WriteDeadLetter(l, b) \/ DeadLettered(l, b)
LaneProgress(l) == Send(l) \/ \E b \in Batches : Answer(l, b) \/ FollowUp(l, b)

Next ==
  \/ Create \/ Shell \/ Drain \/ Stop \/ ForceStop \/ CrashRestart
  \/ \E l \in Lanes :
       \/ LaneProgress(l)
       \/ \E b \in Batches : Reject(l, b) \/ Fail(l, b) \/ Hold(l, b) \/ Vanish(l, b)
                             \/ AckTwice(l, b) \/ SendStale(l, b)
       \/ AddLane(l) \/ RemoveLane(l)
       \/ \E to \in Oseq : RollBackLane(l, to)
  \/ \E p \in Policies : ChangePolicy(p)
  \/ \E to \in Oseq : RollBack(to)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Fairness.  None on Create, Drain, ForceStop, CrashRestart, faults and operators.  TLC evaluates ENABLED slowly, so  *)
(* it is written out, and GuardsAreRight says that it is written out rightly.                                          *)

CanShell          == CanHandOut \/ decided # {} \/ telling # None \/ trimmed < released
CanAnswer(l, b)   == Answerable(l, b)
CanFollowUp(l, b) == b \in retrying[l] \cup vanished[l] \cup dead_lettering[l] \/ (b \in held[l] /\ RetryAllowed)
CanProgress(l)    == CanSend(l) \/ \E b \in Batches : CanAnswer(l, b) \/ CanFollowUp(l, b)

GuardsAreRight ==
  /\ CanShell <=> ENABLED Shell
  /\ CanStop <=> ENABLED Stop
  /\ \A l \in Lanes : CanSend(l) <=> ENABLED Send(l)
  /\ \A l \in Lanes, b \in Batches : CanAnswer(l, b) <=> ENABLED Answer(l, b)
  /\ \A l \in Lanes, b \in Batches : CanFollowUp(l, b) <=> ENABLED FollowUp(l, b)

\* With a bounded number of faults, weak fairness is enough.
Fair == /\ <>[]CanShell => []<><<Shell>>_vars
        /\ <>[]CanStop => []<><<Stop>>_vars
        /\ \A l \in Lanes : <>[]CanProgress(l) => []<><<LaneProgress(l)>>_vars
FairSpec == Spec /\ Fair

\* With unlimited faults, a batch that is sent again and again is answered at last.
Recovering ==
  /\ <>[]CanShell => []<><<Shell>>_vars
  /\ <>[]CanStop => []<><<Stop>>_vars
  /\ \A l \in Lanes : <>[]CanSend(l) => []<><<Send(l)>>_vars
  /\ \A l \in Lanes, b \in Batches : []<>CanAnswer(l, b) => []<><<Answer(l, b)>>_vars
  /\ \A l \in Lanes, b \in Batches : <>[]CanFollowUp(l, b) => []<><<FollowUp(l, b)>>_vars
RecoveringSpec == Spec /\ Recovering

-----------------------------------------------------------------------------
(* What really happened, computed from the world and the history alone *)

Live        == (1..last_oseq) \ void
Has(l, b)   == b \in applied[l] \cup dead_letters[l]
Answered(l) == h_acked[l] \cup h_rejected[l]

\* Every batch promised to the sink up to `n' has reached its end: the sink has it, or the dead letters have.
Terminalized(l, n) == \A b \in (base[l] + 1)..n : b \in void \/ Has(l, b)

\* Whether a batch meets a policy, by looking who has it; `counting' are the lanes that count and are owed the batch.
Met(b, p, L, counting) ==
  CASE p.kind = "required" -> /\ counting \cap Required # {}
                              /\ \A l \in counting \cap Required : Has(l, b)
    [] p.kind = "all"      -> counting # {} /\ \A l \in counting : Has(l, b)
    [] p.kind = "quorum"   -> Cardinality({l \in L : Has(l, b)}) >= p.n

-----------------------------------------------------------------------------
(* Safety: states *)

WellFormed(written) ==
  /\ written.delivered \in [Lanes -> 0..last_oseq \cup {None}] /\ written.joining \in [Lanes -> Oseq \cup {None}]
  /\ written.committed \in 0..last_oseq /\ written.rollbacks \in 0..MaxChanges
  /\ written.stop.reason \in {"none", "graceful", "forced"}
PerLane(S) == [Lanes -> SUBSET S]

TypeOK ==
  /\ phase \in {"running", "draining", "stopped"}
  /\ policy \in Policies \cup {InitialPolicy}
  /\ committed \in 0..last_oseq /\ rollbacks \in 0..MaxChanges
  /\ told \in Oseq /\ telling \in Oseq \cup {None} /\ released \in 0..last_oseq /\ trimmed \in 0..released /\ acknowledged \in 0..last_oseq
  /\ lanes \subseteq Lanes /\ lanes # {}
  /\ delivered \in [Lanes -> 0..last_oseq] /\ since \in [Lanes -> Oseq \cup {None}] /\ stopped \in [Lanes -> BOOLEAN]
  /\ \A places \in {queued, in_flight, retrying, held, dead_lettering, pending_acks} : places \in PerLane(1..last_oseq)
  /\ \A l \in Lanes : vanished[l] \subseteq in_flight[l] /\ Cardinality(Unresolved(l)) <= MaxInflight[l]
  /\ \A l \in Lanes \ lanes : queued[l] \cup Unresolved(l) \cup pending_acks[l] = {}
  /\ Cardinality(decided) <= 1 /\ \A written \in decided \cup {persisted} : WellFormed(written)
  /\ outbox \subseteq (trimmed + 1)..last_oseq
  /\ dead_letters \in PerLane(Batches) /\ sink_cursor \in [Lanes -> Oseq \cup {None}]

\* No cursor passes a batch that its sink does not have and that is not in the dead letters: not the lane's, and not
\* the point at which it would begin after a crash.
CheckpointNeverAheadOfTerminalizedPrefix ==
  \A l \in lanes : Terminalized(l, delivered[l]) /\ Terminalized(l, RestartPoint(l))

\* A batch sent and unanswered is above the cursor; a batch answered is above it only while a lower one is unanswered.
CheckpointOrdering ==
  \A l \in lanes :
    /\ \A b \in h_sent[l] \ Answered(l) : b > delivered[l]
    /\ \A b \in Answered(l) : b > delivered[l] => \E u \in h_sent[l] \ Answered(l) : u < b

\* After a graceful stop everything ever sent was answered and is below the cursor; after any stop nothing travels.
DrainCompleteness ==
  phase = "stopped" =>
    \A l \in lanes : /\ Unresolved(l) = {}
                     /\ stop_record.reason = "graceful" => /\ h_sent[l] \subseteq Answered(l)
                                                           /\ \A b \in h_sent[l] : b <= delivered[l]

\* Whatever was published and promised to a sink is there, or in the dead letters, or still owed to it and kept.
NoBatchLeftBehind ==
  \A l \in lanes :
    LET owed == queued[l] \cup Unresolved(l) \cup stop_record.abandoned[l] IN
    /\ \A b \in Live : b > base[l] => Has(l, b) \/ b \in owed \/ (stopped[l] /\ b <= trimmed)
    /\ owed \subseteq outbox

\* A batch of a lane is in one place, has at most one outcome, and is never both in the sink and in the dead letters.
Places(l) == <<queued[l], in_flight[l], retrying[l], held[l], dead_lettering[l], pending_acks[l]>>
NoDoubleComplete ==
  \A l \in lanes :
    /\ \A i \in 1..6 : \A j \in 1..(i - 1) : Places(l)[i] \cap Places(l)[j] = {}
    /\ h_acked[l] \cap h_rejected[l] = {} /\ h_twice[l] = {}
    /\ Answered(l) \cap Unresolved(l) = {} /\ Answered(l) \cap queued[l] = {}
    /\ applied[l] \cap dead_letters[l] = {}

\* What came into a lane since it was opened = delivered + dead + waiting + unresolved + abandoned, by counting.
ConservationPerStage ==
  /\ \A l \in lanes :
       Cardinality(h_offered[l]) =
         Cardinality(h_acked[l]) + Cardinality(h_rejected[l]) + Cardinality(queued[l]) + Cardinality(in_flight[l])
         + Cardinality(retrying[l]) + Cardinality(held[l]) + Cardinality(dead_lettering[l])
         + Cardinality(stop_record.abandoned[l])
  /\ last_oseq = Cardinality(Live) + Cardinality(void)
  /\ outbox = {b \in Live : b > trimmed}

\* Rows that a sink refused are durable before any cursor passes them.
DeadLetterBeforeCursor ==
  \A l \in lanes : \A b \in refused[l] \ (applied[l] \cup void) :
    b \notin dead_letters[l] => b > delivered[l] /\ (b > base[l] => b > RestartPoint(l))

\* The sources are told nothing that was not in cursors on disk.
AcknowledgedIsDurable == acknowledged <= durable_committed

\* What was deleted is with every sink that goes on, and a restart finds all it needs.
ReleasedIsDelivered ==
  \A l \in lanes : ~stopped[l] => /\ \A b \in Live : base[l] < b /\ b <= trimmed => Has(l, b)
                                  /\ RestartPoint(l) >= trimmed

\* The policy asks for no more lanes than can ever come to count.
PolicyReachable == CanBeMet(policy, lanes, since, committed)

\* Nothing that the policy allows is held back: committed is the highest number that meets it.
PolicyReached == Prefix(policy, lanes, delivered, since) <= committed

\* A stop has exactly one reason and lists exactly what it left undone; a running ledger has none, nor has its record.
StopRecordConsistent ==
  /\ (phase = "stopped") <=> (stop_record.reason # "none")
  /\ phase = "stopped" =>
       \A l \in lanes : /\ stop_record.abandoned[l] = h_sent[l] \ Answered(l)
                        /\ stop_record.remaining[l] = h_offered[l] \ h_sent[l]
                        /\ stop_record.reason = "graceful" => stop_record.abandoned[l] = {}
  /\ phase # "stopped" /\ persisted.stop # NoStop => \A l \in lanes : h_sent[l] = {}

-----------------------------------------------------------------------------
(* Safety: steps *)

Crashed == crashes' # crashes

\* A batch is committed only when the policy is met for it, and a new lane counts only once it reaches over committed.
PolicyGate ==
  [][/\ \A b \in Live' \cap (committed + 1)..committed' :
          Met(b, policy, lanes, {l \in lanes : Counts(l) /\ b > base[l]})'
     /\ \A l \in lanes' : since[l] # None /\ since'[l] = None /\ ~Crashed
          => since[l] <= committed' /\ delivered'[l] >= committed]_vars

\* committed falls only by rollback, in memory and on disk; a crash takes it back to what is on disk and no further.
CommittedMonotonic ==
  [][/\ committed' < committed => rollbacks' > rollbacks \/ (Crashed /\ committed' >= persisted.committed)
     /\ persisted'.committed < persisted.committed => persisted'.rollbacks > persisted.rollbacks
     /\ acknowledged' >= acknowledged /\ trimmed' >= trimmed]_vars

\* Failing, holding, vanishing, retrying and a stop move no cursor; a crash leaves what is on disk.
HeldAndForceLeaveCursors ==
  [][/\ ~Crashed /\ lanes' = lanes /\ (\/ retrying' # retrying \/ held' # held \/ vanished' # vanished
                                       \/ (phase # "stopped" /\ phase' = "stopped"))
          => UNCHANGED <<delivered, committed, persisted, acknowledged>>
     /\ Crashed => UNCHANGED <<persisted, acknowledged, dead_letters, outbox>>]_vars

NoCreateAfterDrain == [][last_oseq' > last_oseq => phase = "running"]_vars

InFlightNeverGrowsWhileDraining ==
  [][phase # "running" /\ ~Crashed => \A l \in Lanes : /\ h_sent'[l] \subseteq h_sent[l]
                                                       /\ h_sent'[l] \ Answered(l)' \subseteq h_sent[l] \ Answered(l)]_vars

\* A batch taken back by a rollback is never sent, and its number never used again.
VoidStaysVoid ==
  [][/\ \A l \in Lanes : (h_sent'[l] \ h_sent[l]) \cap void = {}
     /\ void \subseteq void' /\ last_oseq' >= last_oseq]_vars

-----------------------------------------------------------------------------
(* Liveness *)

\* A drain ends by itself: neither a crash nor force is relied on, for neither is fair.
EventualDrain == phase = "draining" ~> phase # "draining"

\* A batch sent is resolved, or listed as abandoned by a stop, or its lane is gone.
NoBatchLeftBehindForEver ==
  \A l \in Lanes, b \in Batches :
    b \in h_sent[l] ~> (b <= delivered[l] \/ l \notin lanes \/ stopped[l] \/ phase = "stopped" \/ b \in void)

HeldEventuallyReleased == \A l \in Lanes, b \in Batches : b \in held[l] ~> b \notin held[l]

\* A published batch is committed on disk, unless the pipeline is stopped, it is taken back, or a lane can never go on.
EveryCreatedBatchIsCommitted ==
  \A b \in Batches :
    b \in outbox ~> (persisted.committed >= b \/ phase # "running" \/ b \in void \/ \E l \in lanes : stopped[l])

\* What is committed on disk, the sources are told.
SourcesAreTold == \A b \in Batches : persisted.committed >= b ~> (acknowledged >= b \/ persisted.committed < b)
=============================================================================
