//! A request arrives: it updates its queue's statistics, is inserted, and may end the disk's idling.
//!
//! **Rule** A single small request of the queue that the disk idles for does not end the idling if idling raises
//! throughput: more may follow and merge. In 4.19 it never does while the slice has time left.
//! **Origin** docs/behaviour/elevators-6.1.md#b2.5 to #b2.7; docs/behaviour/elevators-4.19-5.15.md#y5 and #w8. (4.19
//! learns from the request after inserting it, #y6, which changes no decision.)
//! **In the kernel** `bfq_insert_request`, `bfq_add_request`, `bfq_rq_enqueued`, `bfq_update_io_seektime`.

use crate::elevators::bfq::data::{Bfq, Met, RequestData};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{InjectionRule, IoBound, Measurable, SeekySoft, SmallRequest};
use crate::elevators::bfq::state::arrival::{Arrival, News};
use crate::elevators::bfq::state::injection::SampleStart;
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Raised, RaisingEnd, Reason};
use crate::request::{Bio, RequestId, Sector, Waiter};

/// A single request smaller than this may wait for others to merge with it \[sectors\].
const SMALL: u32 = 32;

impl Bfq {
    /// Inserts a prepared request, which consists of this bio.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn arrived(&mut self, call: &mut Call<'_>, rq: RequestId, bio: &Bio) {
        let RequestData { context, queue: mut q, .. } = self.rows[rq];
        let Bio { start, sectors, waiter, .. } = *bio;
        // The same was tested before the bio became a request (`may_merge`), but the result may have changed.
        if self.met != Met::Alone
            && let Some(into) = self.cooperator(call, context, q, start)
        {
            q = self.move_request(call, rq, q, into);
        }
        let (requests, is_gone) = (self.contexts[context].requests(), self.contexts[context].is_gone());
        let choice = self.choice(self.device.last_position());
        let expire = self.fifo_expire(waiter);
        let at = Arrival {
            ns: call.ns,
            now: call.now,
            idle: self.slice_idle(),
            new_start: self.timeouts.new_start,
            start,
            sectors,
            rotational: self.device.rate.is_rotational(),
            is_gone,
        };
        self.queued += 1;
        self.elevator_queued += 1;
        let mut queue = &mut self.queues[q];
        let news = queue.arrives(at, &self.rules);
        // A process with other requests in progress did not wait for another process before it sent this one, and the
        // service time measured would be that of several requests.
        let is_alone = queue.is_sync()
            && match self.rules.measurable {
                Measurable::LoneRequest => requests <= 1,
                Measurable::EmptyQueue => queue.is_empty(),
            };
        if news.is_any() || is_alone {
            self.apply_news(&mut call.apart(), q, news, is_alone);
            queue = &mut self.queues[q];
        }
        if call.cx.has_listener() {
            self.say_searched(&mut call.apart(), q, start);
            queue = &mut self.queues[q];
        }
        if queue.is_sync() && self.rules.io_bound == IoBound::Intensity {
            let ran_empty = queue.is_empty() && queue.in_device() == 0;
            queue.habits.watch(call.ns, ran_empty, queue.birth.is_new());
        }
        self.rows.push_back(&mut queue.fifo, rq).expires_ns = call.ns + expire;
        self.sorted.insert(&mut queue.sorted, rq.index() as u32, start);
        let next = choice.better(&self.sorted, |rq| call.rq(rq), queue.next, Some(rq));
        let is_next = next != queue.next;
        queue.next = next;
        let (was_raised, mut interactive) = (queue.is_raised(), false);
        if is_next || !queue.is_busy() || waiter == Waiter::Async {
            interactive = self.find_its_place(&mut call.apart(), q, is_next);
            queue = &mut self.queues[q];
        }
        // Restarts the time of its raising, or of not being raised. For a queue that stays raised it must not restart
        // with each request, or the queue would be raised for ever.
        if self.knobs.low_latency && (!was_raised || !queue.is_raised() || interactive) {
            queue.restart_raising(call.now);
        }
        // The disk may have been left idle for it.
        if queue.slice.waits() && self.hierarchy.in_service() == Some(q) {
            self.was_waited_for(&mut call.apart(), q, rq);
        }
    }

    #[cold]
    fn say_searched(&self, call: &mut Call<'_>, q: Qid, start: Sector) {
        let steps = self.sorted.comparisons(self.queues[q].sorted, start);
        call.explain(Reason::Searched { index: crate::explain::Index::Tree, steps });
    }

    #[inline(never)]
    fn apply_news(&mut self, call: &mut Call<'_>, q: Qid, news: News, is_alone: bool) {
        if let Some(shortly) = news.has_short_ttime {
            self.changes_its_mind(call, q, shortly);
        }
        if news.only_seeks {
            match self.rules.seeky_soft {
                SeekySoft::Stays => {}
                SeekySoft::Ends => self.end_raising(call, q, RaisingEnd::Seeks),
                SeekySoft::Returns => self.end_soft_real_time(call, q, RaisingEnd::Seeks),
            }
        }
        if is_alone && self.rules.injection == InjectionRule::Measured {
            self.check_waker(call, q);
            let (in_service, in_device) = (self.hierarchy.in_service() == Some(q), self.device.in_device());
            let queue = &mut self.queues[q];
            let has_short_ttime = queue.habits.has_short_ttime();
            let at = SampleStart { ns: call.ns, now: call.now, has_short_ttime, in_service, in_device };
            self.sample.prepare(&mut queue.injection, at, &self.timeouts);
        }
    }

    /// Handles a queue that has a new next request, is not busy yet, or is write-back. True if it begins something new.
    #[inline(never)]
    fn find_its_place(&mut self, call: &mut Call<'_>, q: Qid, is_next: bool) -> bool {
        if is_next {
            self.position_add(call, q);
        }
        let queue = &self.queues[q];
        if !queue.is_busy() {
            return self.awaken(call, q);
        }
        if !queue.is_sync() {
            self.raise_write_back(call, q);
        }
        if is_next {
            self.fit_budget(call, q);
        }
        false
    }

    /// Inserts a request into the order by sector again; true if the next request changes.
    fn sort_in(&mut self, call: &mut Call<'_>, q: Qid, rq: RequestId) -> bool {
        let start = call.rq(rq).start;
        if call.cx.has_listener() {
            self.say_searched(call, q, start);
        }
        let choice = self.choice(self.device.last_position());
        let queue = &mut self.queues[q];
        self.sorted.insert(&mut queue.sorted, rq.index() as u32, start);
        let next = choice.better(&self.sorted, |rq| call.rq(rq), queue.next, Some(rq));
        let is_next = next != queue.next;
        queue.next = next;
        is_next
    }

    /// Raises write-back that arrives in a busy queue after a pause.
    fn raise_write_back(&mut self, call: &mut Call<'_>, q: Qid) {
        let raising = *self.queues[q].raising();
        let paused = raising.is_older_than(call.now, self.timeouts.write_back);
        if !self.knobs.low_latency || raising.is_raised() || !paused {
            return;
        }
        self.set_raising(q, raising.interactive(self.interactive_lasts()));
        self.entity_mut(q).reweigh();
        self.say_raised(call, q, Raised::WriteBack);
    }

    /// Handles a request for whose queue the disk was being left idle.
    #[inline(never)]
    fn was_waited_for(&mut self, call: &mut Call<'_>, q: Qid, rq: RequestId) {
        let waiter = call.rq(rq).waiter;
        let queue = &self.queues[q];
        let of_its_kind = |&slot: &u32| call.rq(RequestId::from_index(slot)).waiter == waiter;
        let small = call.rq(rq).sectors < SMALL;
        let alone = small && self.sorted.iter(queue.sorted).filter(of_its_kind).nth(1).is_none();
        let out_of_time = self.queues[q].slice.is_out_of_time(call.now);
        // Dispatched at once, it would stay small: the next request could no longer merge with it.
        let stays = || self.rules.small_request == SmallRequest::OutOfTime || self.idling_is_faster(q);
        if alone && !out_of_time && stays() {
            return;
        }
        self.end_idling(call, q);
        if out_of_time {
            self.expire(call, q, Why::OutOfTime, Until::Now);
        }
    }

    /// Re-sorts a request after a front merge, but only if it has passed another one.
    pub(in crate::elevators::bfq) fn begins_earlier(&mut self, call: &mut Call<'_>, rq: RequestId) {
        let (q, slot, start): (Qid, u32, _) = (self.rows[rq].queue, rq.index() as u32, call.rq(rq).start);
        if self.queues[q].next == Some(rq) {
            self.positions.moved(q, start);
        }
        if self.sorted.previous(slot).is_none_or(|before| start >= self.sorted.key(before)) {
            return self.sorted.rekey(slot, start);
        }
        self.sorted.remove(&mut self.queues[q].sorted, slot);
        if self.sort_in(call, q, rq) {
            self.fit_budget(call, q);
            self.position_add(call, q);
        }
    }
}
