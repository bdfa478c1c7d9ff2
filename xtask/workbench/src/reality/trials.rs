//! `reality --trials`: what reports of trials (`blksched trial --share`) say of predictions, class by class.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What is counted of a class of disks.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClassCount {
    reports: u32,
    figures: u32,
    proven: u32,
    /// Of the proven ones, those predicted in their direction.
    right: u32,
    /// Predictions within the measured interval.
    within: u32,
}

/// Prints a line for each class of disks.
///
/// # Errors
/// If a file cannot be read, or is no such report.
pub fn run(files: &[PathBuf]) -> Result<()> {
    let mut classes = BTreeMap::new();
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("reading {name}"))?;
        let value: Value = serde_json::from_str(&text).with_context(|| format!("{name}"))?;
        count(&value, &mut classes).with_context(|| format!("{name}"))?;
    }
    println!("class of the model's disk: reports, means of all reads predicted, within the interval, right of proven");
    for (class, ClassCount { reports, figures, proven, right, within }) in &classes {
        println!("{class}: {reports}, {figures}, {within}, {right} of {proven}");
    }
    Ok(())
}

fn count(report: &Value, classes: &mut BTreeMap<String, ClassCount>) -> Result<()> {
    if report["schema"] != "blksched/trial-report/1" {
        bail!("no report of a trial: expected what `blksched trial --share FILE` writes");
    }
    let predicted = &report["predicted"];
    let class = predicted["class"].as_str().unwrap_or("without a prediction");
    let count = classes.entry(class.to_owned()).or_default();
    count.reports += 1;
    for one in predicted["figures"].as_array().into_iter().flatten() {
        let (Some(ours), Some(theirs)) = (one["predicted_ratio"].as_f64(), one["measured_ratio"].as_f64()) else {
            bail!("a figure without its two ratios");
        };
        // One figure of each setting: all of a trial's hang together.
        if !one["process"].is_null() || one["figure"] != "mean ms" {
            continue;
        }
        count.figures += 1;
        count.within += u32::from(one["within"] == true);
        if one["proven"] == true {
            count.proven += 1;
            // A change of less than 5 % is a prediction of none.
            count.right += u32::from(ours.ln().abs() >= 0.05 && (ours > 1.0) == (theirs > 1.0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_are_counted_by_class_and_others_refused() {
        let figure = |ours: f64, theirs: f64, proven: bool, within: bool| {
            json!({
                "process": null, "figure": "mean ms", "predicted_ratio": ours, "measured_ratio": theirs,
                "proven": proven, "within": within,
            })
        };
        let figures = [figure(0.5, 0.6, true, true), figure(0.5, 1.6, true, false), figure(0.5, 1.1, false, false)];
        let schema = "blksched/trial-report/1";
        let whole = json!({ "schema": schema, "predicted": { "class": "hdd", "figures": figures } });
        let bare = json!({ "schema": schema, "predicted": null });
        let mut classes = BTreeMap::new();
        count(&whole, &mut classes).unwrap();
        count(&bare, &mut classes).unwrap();
        assert_eq!(classes["hdd"], ClassCount { reports: 1, figures: 3, proven: 2, right: 1, within: 1 });
        assert_eq!(classes["without a prediction"].reports, 1);
        assert!(count(&json!({}), &mut classes).is_err());
    }
}
