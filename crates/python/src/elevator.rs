//! An elevator that is a Python class. The queue's bookkeeping stays here: what is queued, and what has merged away, so
//! that a class is an order and nothing else.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use blksched::author::merge::Merging;
use blksched::author::{
    Admits, Bound, Cx, Dispatch, Elevator, Entry, Grouped, Home, Insert, Merges, Preset, RequestId, Run, Tuned, Wait,
};
use blksched::reasons::IdleFor;
use blksched::{Choice, Instant, Kernel};
use pyo3::intern;
use pyo3::prelude::*;

use crate::run::Raised;

/// The classes, by the elevators' names.
static CLASSES: Mutex<BTreeMap<String, (&'static str, Py<PyAny>)>> = Mutex::new(BTreeMap::new());

/// Makes this class an elevator with that name; a later class of the same name replaces it.
pub(crate) fn register(name: String, class: Py<PyAny>) {
    let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    // Entries' names live for ever: one for each name, not for each class.
    let known = classes.get(&name).map(|(known, _)| *known);
    let known = known.unwrap_or_else(|| &*Box::leak(name.clone().into_boxed_str()));
    classes.insert(name, (known, class));
}

/// All of them, for the catalogue.
pub(crate) fn entries() -> Vec<Entry> {
    let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    classes.values().map(|(name, _)| Entry { name, ..ENTRY }).collect()
}

const ENTRY: Entry = Entry {
    name: "python",
    summary: "a Python class",
    presets: &[Preset::of_no_kernel(Kernel::new(6, 1, 0), "a Python class; no kernel has it")],
    home: Home::OutOfTree,
    mechanisms: &[],
    knobs: &[],
    bound: |_| Bound { reads: Wait::None("the class promises nothing"), writes: Wait::None("the same") },
    build,
};

fn build(choice: &Choice) -> Box<dyn Elevator> {
    let made = Python::attach(|py| {
        let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
        let class = classes.get(choice.entry.name).map(|(_, class)| class.clone_ref(py));
        // A class may ask for other elevators while it is created.
        drop(classes);
        class.map(|class| class.call0(py)).expect("only registered names have this entry")
    });
    Box::new(PyElevator { object: raise(made), queued: BTreeMap::new(), gone: Vec::new(), until: None })
}

/// An exception from Python ends the simulation, and is raised by the call that began it.
fn raise<T>(result: PyResult<T>) -> T {
    result.unwrap_or_else(|error| std::panic::resume_unwind(Box::new(Raised(error))))
}

/// A request as a class sees it.
#[pyclass(name = "Request", frozen, get_all, module = "blksched")]
pub(crate) struct PyRequest {
    /// Never reused.
    id: u64,
    /// `read`, `write`, `discard`, `flush`, `writezeroes`
    op: String,
    /// The first, of 512 bytes.
    sector: u64,
    /// How many there were when it was inserted: later merges make it longer.
    sectors: u32,
    /// The process.
    process: u32,
    /// Whether a process waits for it.
    sync: bool,
    /// When it was created.
    queued_ns: u64,
}

#[pymethods]
impl PyRequest {
    fn __repr__(&self) -> String {
        let PyRequest { id, op, sector, sectors, process, .. } = self;
        format!("Request(id={id}, op='{op}', sector={sector}, sectors={sectors}, process={process})")
    }
}

/// The class's object, and the state that it need not keep itself.
struct PyElevator {
    object: Py<PyAny>,
    /// By serial number.
    queued: BTreeMap<u64, RequestId>,
    /// Merged away; the object may still return them.
    gone: Vec<u64>,
    /// Until when the disk is left idle.
    until: Option<Instant>,
}

/// What `dispatch` may return besides a request: None, or a time until which the disk is left idle.
#[derive(FromPyObject)]
enum Chosen {
    Idle { until_ns: u64 },
    Request { id: u64 },
}

impl PyElevator {
    fn told(&self, cx: &Cx<'_>, method: &str, rq: RequestId) {
        let request = cx.rq(rq);
        let told = PyRequest {
            id: request.serial,
            op: format!("{:?}", request.op).to_lowercase(),
            sector: request.start.0,
            sectors: request.sectors,
            process: request.submitter.0,
            sync: request.waiter == blksched::author::Waiter::Sync,
            queued_ns: request.queued_at.as_ns(),
        };
        let now = cx.now.as_ns();
        raise(Python::attach(|py| self.object.call_method1(py, method, (now, told)).map(drop)));
    }

    fn ask(&self, now: Instant) -> Option<Chosen> {
        raise(Python::attach(|py| {
            let answer = self.object.bind(py).call_method1(intern!(py, "dispatch"), (now.as_ns(),))?;
            if answer.is_none() { Ok(None) } else { answer.extract::<Chosen>().map(Some) }
        }))
    }

    fn wrong(&self, what: String) -> ! {
        let error = Python::attach(|py| crate::errors::input(py, &what));
        std::panic::resume_unwind(Box::new(Raised(error)))
    }
}

impl Elevator for PyElevator {
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.queued.insert(cx.rq(rq).serial, rq);
        self.told(cx, "insert", rq);
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        self.until = None;
        while !self.queued.is_empty() {
            match self.ask(cx.now) {
                None => return Dispatch::Wait,
                Some(Chosen::Idle { until_ns }) if until_ns > cx.now.as_ns() => {
                    let until = Instant::from_ns(until_ns);
                    self.until = Some(until);
                    return Dispatch::Idle { until, why: IdleFor::Company };
                }
                Some(Chosen::Idle { until_ns }) => {
                    self.wrong(format!("dispatch: idle until {until_ns} ns, and it is {} ns now", cx.now.as_ns()))
                }
                Some(Chosen::Request { id }) => match self.queued.remove(&id) {
                    Some(rq) => return Dispatch::Issue(rq),
                    None if self.gone.contains(&id) => self.gone.retain(|gone| *gone != id),
                    None => self.wrong(format!("dispatch: request {id} is not queued")),
                },
            }
        }
        self.gone.clear();
        Dispatch::Empty
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.told(cx, "complete", rq);
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.queued.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.until
    }

    fn elapse(&mut self, _cx: &mut Cx<'_>) -> Run {
        self.until = None;
        Run::Now
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        let serial = cx.rq(victim).serial;
        self.queued.remove(&serial);
        self.gone.push(serial);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.queued.insert(cx.rq(rq).serial, rq);
        self.told(cx, "requeue", rq);
    }
}

impl Merges for PyElevator {
    fn merging(&self) -> Merging {
        Merging::LINUX_4_20
    }
}

impl Admits for PyElevator {}
impl Grouped for PyElevator {}
impl Tuned for PyElevator {}
