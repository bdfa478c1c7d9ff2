//! A comparison for machines, and what it shares with a single run. The schema is `blksched/compare/2`
//! (docs/schema.md); `tests/it/schema.rs` compares both with that page.

use blksched::Span;
use blksched_lab::runs::cpu::CpuMeasure;
use blksched_lab::runs::lasting::Lasting;
use blksched_lab::runs::measured::{BesideMeasure, JobMeasure, Measured, Total};
use blksched_lab::runs::memory::MemoryMeasure;
use blksched_lab::scene::{OtherStage, Stage};
use blksched_lab::verdict::action::{Challenger, Kept, two_modes};
use blksched_lab::verdict::brief::About;
use blksched_lab::verdict::cause::FigureCause;
use blksched_lab::verdict::contrast::Contrast;
use blksched_lab::verdict::figure::Figure;
use blksched_lab::verdict::halves::Unsteady;
use blksched_lab::verdict::processors;
use blksched_lab::verdict::validation::Validation;
use blksched_lab::{Compared, Scene, Verdict};
use blksched_measure::{Cause, Paired, Quantity, Table, Work};
use blksched_simulate::Trial;
use serde::Serialize;
use serde_json::{Value, json};

use super::memory_table::sync_key;
use super::sample::sample;
use super::{extra, sensitivity, validation};
use crate::scene::host_settings;
use crate::used;

/// The first keys, in this order.
#[derive(Serialize)]
struct Head {
    schema: &'static str,
    version: &'static str,
    command: Vec<String>,
    seed: u64,
    disk: Value,
    seeds: usize,
}

#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    rest: Value,
}

/// A document of this schema: the description of the run, then `rest`.
pub(crate) fn document(schema: &'static str, run: &JsonRun<'_>, rest: Value) -> String {
    let JsonRun { stage, scene, .. } = run;
    let facts = stage.disk.build(scene.seed).facts();
    let head = Head {
        schema,
        version: env!("CARGO_PKG_VERSION"),
        command: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        seed: run.seed,
        disk: json!({
            "name": stage.disk.name,
            "description": stage.disk.description,
            "validated": run.validation.model.sentence(),
            "predictions": run.validation.sentences().join(" "),
            "bytes": facts.sectors * 512,
            "rotational": facts.rotational,
            "depth": facts.depth,
            "attached": scene.attached.unwrap_or(stage.disk.attached).word(),
        }),
        seeds: run.seeds,
    };
    let mut value = json!({
        "workload": stage.workload.name,
        "host": {
            "settings": host_settings(&scene.host.memory, &scene.host.of_disks),
            "nr_requests": scene.nr_requests,
            "queue_depth": scene.depth,
            "max_sectors_kb": scene.max_sectors_kb,
            "wbt_lat_usec": scene.wbt_lat_usec,
            "cpus": scene.host.cpus,
            "cpu": scene.host.cpu_name(),
        },
        "time_limit_ns": run.limit.as_ns(),
    });
    if !stage.among.others.is_empty() {
        let other = |other: &OtherStage| {
            let alike = stage.among.is_fellow(other) && !other.is_named;
            json!({
                "name": other.name,
                "model": other.disk.name,
                "description": other.disk.description,
                "scheduler": if alike { "as varied_disk".to_owned() } else { other.contender.label() },
                "attached": other.disk.attached.word(),
            })
        };
        value["varied_disk"] = json!(stage.among.name);
        value["other_disks"] = stage.among.others.iter().map(other).collect();
    }
    if let (Value::Object(all), Value::Object(rest)) = (&mut value, rest) {
        all.extend(rest);
    }
    serde_json::to_string_pretty(&Whole { head, rest: value }).expect("every key is a string") + "\n"
}

/// What was run.
pub(crate) struct JsonRun<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) scene: &'a Scene,
    /// The first seed, and the number of seeds.
    pub(crate) seed: u64,
    pub(crate) seeds: usize,
    pub(crate) limit: Span,
    /// What predictions on the disk were validated against.
    pub(crate) validation: &'a Validation,
}

pub(crate) fn text(compared: &Compared) -> String {
    let Compared { comparison, stage, lasting, measured, verdict, .. } = compared;
    let length = lasting.length;
    let limit = length.limit;
    let seeds = measured[0].jain.values().len();
    let run = JsonRun {
        stage,
        scene: &comparison.scene,
        seed: compared.first,
        seeds,
        limit,
        validation: &verdict.validation,
    };
    let contrasts = measured.iter().skip(1).zip(&verdict.contrasts);
    let rest = json!({
        "phases": stage.plan.phases(),
        "warm_up_ns": length.warm_up_of_phase(&stage.plan).as_ns(),
        "length": self::lasting(lasting),
        "hangs_on_cpu_costs": processors::hangs(measured),
        "schedulers": measured.iter().zip(&compared.used).map(|(one, (_, t))| scheduler(one, t)).collect::<Vec<_>>(),
        "contrasts": contrasts.flat_map(|(here, all)| {
            all.iter().map(|contrast| contrast_of(here, contrast))
        }).collect::<Vec<_>>(),
        "worth": extra::worth(&compared.worth).as_ref().map(Table::json),
        "targets": compared.kyber.as_ref().map(|targets| extra::targets(targets).json()),
        "recorded": compared.recorded.as_ref().map(|beside| extra::recorded(beside).json()),
        "unranked": verdict.unranked,
        "validation": validation::json(&verdict.validation),
        "answer": answer(verdict),
        "verdict": verdict.sentences,
        "sensitivity": verdict.hangs_on.as_ref().map(sensitivity::json),
        "action": if verdict.unranked.is_none() { action(verdict) } else { Value::Null },
        "causes": verdict.causes.iter().map(cause).collect::<Vec<_>>(),
        "notes": (verdict.notes.iter().chain(&verdict.remarks).collect::<Vec<_>>()),
    });
    document("blksched/compare/2", &run, rest)
}

/// How long the runs are, and whether that is enough.
fn lasting(lasting: &Lasting) -> Value {
    let unsteady = |one: &Unsteady| {
        let Unsteady { scheduler, job, ratio, .. } = one;
        json!({ "scheduler": scheduler, "job": job, "figure": figure(&one.figure), "ratio": ratio })
    };
    json!({
        "given": lasting.is_given,
        "doubled": lasting.doubled,
        "simulated_work": lasting.work,
        "most_simulated_work": lasting.most_work,
        "halves_differ": lasting.unsteady.iter().map(unsteady).collect::<Vec<_>>(),
    })
}

/// The lines that people read first.
fn answer(verdict: &Verdict) -> Value {
    let line = |(about, text): &(About, String)| json!({ "about": about.word(), "text": text });
    json!({
        "advice": verdict.brief.advice.word(),
        "lines": verdict.brief.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

/// The recommendation; `use` is null if the default stays.
fn action(verdict: &Verdict) -> Value {
    json!({
        "goal": verdict.goal.name(),
        "default": verdict.default.label(),
        "use": verdict.proposal.as_ref().map(ToString::to_string),
        "kept_because": verdict.kept.map(Kept::word),
        "default_misses": verdict.missed,
        "candidates": verdict.candidates.iter().map(candidate).collect::<Vec<_>>(),
    })
}

/// Why a figure differs.
fn cause(cause: &FigureCause) -> Value {
    json!({
        "scheduler": cause.scheduler,
        "direction": if cause.is_sync { "sync".to_owned() } else { cause.dir.to_string() },
        "waits_for": cause.waits_for,
        "here_ns": cause.here,
        "base_ns": cause.base,
    })
}

fn candidate(candidate: &Challenger) -> Value {
    let one = |c: &Contrast| json!({ "job": c.job, "figure": figure(&c.figure), "times_better": c.times_better() });
    let say = |contrasts: &[Contrast]| contrasts.iter().map(one).collect::<Vec<_>>();
    json!({
        "name": candidate.scheduler.label(),
        "times_better": paired(&candidate.score),
        "p_corrected": candidate.p,
        "gains": say(&candidate.gains),
        "costs": say(&candidate.costs),
        "harms": say(&candidate.harms),
        "forbidden": candidate.forbidden,
        "stalls": candidate.stalls,
    })
}

fn paired(paired: &Paired) -> Value {
    let finite = |value: f64| value.is_finite().then_some(value);
    let interval = [finite(paired.low), finite(paired.high)];
    json!({ "ratio": paired.ratio, "ci95": interval, "n": paired.count, "p": paired.p })
}

pub(super) fn figure(figure: &Figure) -> String {
    figure.work.map_or_else(|| figure.what.key().to_owned(), |work| format!("{} {}", figure.what.key(), work.name()))
}

fn contrast_of(here: &Measured, contrast: &Contrast) -> Value {
    json!({
        "scheduler": here.label(),
        "job": contrast.job,
        "figure": figure(&contrast.figure),
        "unit": contrast.figure.what.unit().unit(),
        "here": contrast.here,
        "base": contrast.base,
        "ratio": paired(&contrast.paired),
        "p_corrected": contrast.p,
        "differs": contrast.differs(),
    })
}

pub(crate) fn scheduler(measured: &Measured, trial: &Trial) -> Value {
    let modes = two_modes(measured).map(|(job, which, modes)| {
        let mode = |(runs, mean): (usize, f64)| json!({ "runs": runs, "mean": mean });
        json!({ "job": job.name, "figure": figure(&which), "modes": [mode(modes.low), mode(modes.high)] })
    });
    let settings = measured.controls.iter().map(|control| {
        let (value, default) = (number_or_text(&control.value), control.default.as_deref().map(number_or_text));
        json!({ "name": control.name, "file": control.file, "value": value, "default": default })
    });
    let mut value = json!({
        "name": measured.name,
        "label": measured.label(),
        "knobs": measured.knobs,
        "settings": settings.collect::<Vec<_>>(),
        "used": used::json(&trial.used()),
        "cpu": measured.cpu.as_ref().map(processors),
        "finished": measured.finished,
        "utilisation": sample(&measured.busy, Quantity::Fraction),
        "seeking": sample(&measured.seeking, Quantity::Fraction),
        "fairness": sample(&measured.jain, Quantity::Ratio),
        "in_present_kernels": measured.is_present(),
        "against_the_priorities": measured.misplaced.as_ref().map(|part| sample(part, Quantity::Fraction)),
        "page_cache": measured.memory.as_ref().map(page_cache),
        "two_modes": modes.collect::<Vec<_>>(),
        "waits": measured.totals.iter().map(|(dir, total)| waits(&dir.to_string(), total)).collect::<Vec<_>>(),
        "trace_hashes": measured.hashes,
        "jobs": measured.jobs.iter().map(job).collect::<Vec<Value>>(),
    });
    if !measured.beside.is_empty() {
        let other = |other: &BesideMeasure| {
            json!({
                "name": other.disk,
                "utilisation": sample(&other.busy, Quantity::Fraction),
                "seeking": sample(&other.seeking, Quantity::Fraction),
            })
        };
        value["other_disks"] = measured.beside.iter().map(other).collect();
    }
    value
}

/// What the page cache did.
fn page_cache(memory: &MemoryMeasure) -> Value {
    let mut value = json!({
        "read_from_memory": sample(&memory.hits, Quantity::Fraction),
        "read_ahead": sample(&memory.read_ahead, Quantity::Bytes),
        "written_to_memory": sample(&memory.dirtied, Quantity::Bytes),
        "written_to_disk": sample(&memory.written, Quantity::Bytes),
        "flusher_bursts": sample(&memory.bursts, Quantity::Count),
        "writers_throttled": sample(&memory.throttled, Quantity::Count),
        "throttled_per_write": sample(&memory.room, Quantity::Time),
        "dirty_at_end": sample(&memory.left, Quantity::Bytes),
    });
    for (what, waited) in memory.syncs.iter().flatten() {
        value[sync_key(*what)] = sample(waited, Quantity::Time);
    }
    value
}

/// A file's content, as a number where it is one.
pub(crate) fn number_or_text(held: &str) -> Value {
    held.parse::<i64>().map_or_else(|_| Value::from(held), Value::from)
}

/// The part of the processors' time spent on I/O, and of that, waiting for the scheduler's lock.
fn processors(measure: &CpuMeasure) -> Value {
    json!({
        "busy": sample(&measure.busy, Quantity::Fraction),
        "busiest": sample(&measure.busiest, Quantity::Fraction),
        "waiting_for_the_lock": sample(&measure.spun, Quantity::Fraction),
        "lock_held": sample(&measure.lock_held, Quantity::Fraction),
        "lock_moves_per_request": sample(&measure.lock_moves, Quantity::Ratio),
        "per_io": sample(&measure.per_io, Quantity::Time),
    })
}

/// Where a request's time went, as a mean over all requests of this direction.
fn waits(dir: &str, total: &Total) -> Value {
    let waits = total.waited.iter().filter(|(_, ns)| *ns > 0.0);
    let wait = |(cause, ns): &(Cause, f64)| json!({ "for": cause.to_string(), "ns": ns });
    json!({
        "direction": dir,
        "queued_ns": waits.map(wait).collect::<Vec<_>>(),
        "slept_for_a_request_slot_ns": total.slept,
        "in_the_disk_ns": total.service,
    })
}

fn job(job: &JobMeasure) -> Value {
    let mut value = json!({
        "name": job.name,
        "processes": job.processes,
        "role": job.role.0.name(),
        "role_because": job.role.1,
        "ran": job.ran.as_ref().map(|ran| sample(ran, Quantity::Time)),
        "finish": job.finish.as_ref().map(|finish| sample(finish, Quantity::Time)),
        "longest_stall": sample(&job.stall, Quantity::Time),
        "demand": sample(&job.asked, Quantity::Fraction),
        "service_time_share": sample(&job.given, Quantity::Fraction),
        "priority": job.priority.as_ref().map(|(name, _)| name),
        "service_time_due": job.priority.as_ref().map(|(_, due)| sample(due, Quantity::Fraction)),
    });
    if let Some(disk) = &job.disk {
        value["disk"] = json!(disk);
    }
    for (work, measure) in &job.work {
        let [mean, p50, p99, p999, max] = [0, 1, 2, 3, 4].map(|nth| sample(&measure.clat[nth], Quantity::Time));
        let bw = (*work != Work::Sync).then(|| sample(&measure.bandwidth, Quantity::Bandwidth));
        value[work.name()] = json!({
            "ios": sample(&measure.ios, Quantity::Count),
            "bw": bw,
            "iops": sample(&measure.iops, Quantity::Iops),
            "clat": { "mean": mean, "p50": p50, "p99": p99, "p99.9": p999, "max": max },
        });
    }
    value
}
