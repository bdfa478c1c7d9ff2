//! Requests inserted without a merge search find their place nevertheless, and a request that an earlier elevator
//! issued is dispatched first when the device returns it.

use blksched::author::Elevator;
use blksched::{Bio, BlockQueue, Catalogue, Durability, Instant, Next, Outcome, QueueConfig, Sector, SubmitterId};

const NOW: Instant = Instant::ZERO;
const ME: SubmitterId = SubmitterId(1);

fn elevator(name: &str) -> Box<dyn Elevator> {
    Catalogue::builtin().build(name).unwrap().elevator
}

fn issue_all(queue: &mut BlockQueue) -> Vec<u64> {
    let mut starts = Vec::new();
    while let Next::Issue(command) = queue.next(NOW) {
        starts.push(command.start.0);
        queue.complete(NOW, command, Outcome::Ok);
    }
    starts
}

#[test]
fn a_list_of_2_5_is_in_order_after_a_switch_to_it() {
    let mut queue = BlockQueue::new(QueueConfig::default(), elevator("noop"));
    for start in [500, 100, 300] {
        queue.submit(NOW, Bio::write(start, ME, Sector(start), 8));
    }
    queue.switch(NOW, elevator("deadline@2.5.45"));
    assert_eq!(issue_all(&mut queue), [100, 300, 500]);
}

#[test]
fn a_write_that_may_not_merge_finds_its_place_in_a_list_of_2_5() {
    let mut config = QueueConfig::default();
    (config.limits.volatile_cache, config.limits.fua) = (true, true);
    let mut queue = BlockQueue::new(config, elevator("deadline@2.5.45"));
    for start in [500, 100] {
        queue.submit(NOW, Bio::write(start, ME, Sector(start), 8));
    }
    let durability = Durability { fua: true, ..Durability::default() };
    queue.submit(NOW, Bio { durability, ..Bio::write(300, ME, Sector(300), 8) });
    assert_eq!(issue_all(&mut queue), [100, 300, 500]);
}

#[test]
fn what_an_earlier_elevator_issued_goes_first_when_it_comes_back() {
    for name in ["noop", "deadline@2.6.33", "deadline@4.20"] {
        let mut queue = BlockQueue::new(QueueConfig::default(), elevator("noop"));
        queue.submit(NOW, Bio::read(900, ME, Sector(900), 8));
        let Next::Issue(command) = queue.next(NOW) else { panic!("there is a request") };
        queue.submit(NOW, Bio::read(100, ME, Sector(100), 8));
        queue.switch(NOW, elevator(name));
        queue.requeue(NOW, command);
        assert_eq!(issue_all(&mut queue), [900, 100], "{name}");
    }
}
