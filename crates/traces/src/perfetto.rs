//! The part of Perfetto's trace format that we write: tracks, slices, counters, flows and arguments.
//!
//! **Origin** The field numbers are those of Perfetto's published reference (TracePacket, TrackDescriptor, TrackEvent,
//! DebugAnnotation). A trace is a sequence of packets, each a field of number 1, so a file is written packet by packet.
//! A test decodes what was written; in the slow tier Perfetto's own classes decode it.

use std::io::{self, Read, Write};

use prost::Message;

/// A whole trace, for reading.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets, in the order of the file.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

/// One packet.
#[derive(Clone, PartialEq, Message)]
pub struct Packet {
    /// The time \[ns\].
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer's number; never 0.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event on a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// 1 in the first packet of a sequence: earlier state does not apply.
    #[prost(uint32, optional, tag = "13")]
    pub cleared: Option<u32>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track: of a process, below another, or of a counter.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its own number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process that it represents.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// Its parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Present if the track is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// The quantity of a counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Arguments.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// The type, one of [`EventType`].
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The categories.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// Its name.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// A counter's value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Flows that go through here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// None of the other kinds.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice of this track that began last ends.
    SliceEnd = 2,
    /// An instant.
    Instant = 3,
    /// A counter changes.
    Counter = 4,
}

/// An argument.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// A number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// A text.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Its name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

impl DebugAnnotation {
    /// Creates an argument that is a number.
    pub fn number(name: &str, value: u64) -> DebugAnnotation {
        DebugAnnotation { name: Some(name.to_owned()), uint_value: Some(value), string_value: None }
    }

    /// Creates an argument that is a text.
    pub fn text(name: &str, value: impl Into<String>) -> DebugAnnotation {
        DebugAnnotation { name: Some(name.to_owned()), uint_value: None, string_value: Some(value.into()) }
    }
}

/// Writes a trace packet by packet. The first error is kept until the end; nothing more is written after it.
pub struct Writer {
    out: Box<dyn Write>,
    written: u64,
    failed: Option<io::Error>,
}

/// All packets are in one sequence.
const SEQUENCE: u32 = 1;
const INCREMENTAL_STATE_CLEARED: u32 = 1;

impl Writer {
    /// Creates a writer to `out`.
    pub fn new(out: Box<dyn Write>) -> Writer {
        Writer { out, written: 0, failed: None }
    }

    /// Writes a track.
    pub fn track(&mut self, track: TrackDescriptor) {
        self.packet(Packet { track_descriptor: Some(track), ..Packet::default() });
    }

    /// Writes an event at `at` \[ns\].
    pub fn event(&mut self, at: u64, event: TrackEvent) {
        self.packet(Packet { timestamp: Some(at), track_event: Some(event), ..Packet::default() });
    }

    fn packet(&mut self, packet: Packet) {
        if self.failed.is_some() {
            return;
        }
        let cleared = (self.written == 0).then_some(INCREMENTAL_STATE_CLEARED);
        let packet = Packet { trusted_packet_sequence_id: Some(SEQUENCE), cleared, ..packet };
        let bytes = Trace { packet: vec![packet] }.encode_to_vec();
        self.written += 1;
        self.failed = self.out.write_all(&bytes).err();
    }

    /// Finishes writing.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// Reads a whole trace.
///
/// # Errors
/// If `input` cannot be read or is not a trace.
pub fn read(mut input: impl Read) -> io::Result<Trace> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Trace::decode(&bytes[..]).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_written_packet_by_packet_is_read_as_one_trace() {
        let kept = Kept::default();
        let mut writer = Writer::new(Box::new(kept.clone()));
        let track = TrackDescriptor { uuid: Some(7), name: Some("disk".to_owned()), ..TrackDescriptor::default() };
        writer.track(track.clone());
        let event = TrackEvent {
            r#type: Some(EventType::SliceBegin as i32),
            track_uuid: Some(7),
            name: Some("read".to_owned()),
            flow_ids: vec![3, u64::MAX],
            debug_annotations: vec![DebugAnnotation::number("sector", 9), DebugAnnotation::text("why", "first")],
            ..TrackEvent::default()
        };
        writer.event(42, event.clone());
        writer.finish().unwrap();
        let bytes = kept.0.lock().unwrap().clone();
        let trace = read(&bytes[..]).unwrap();
        assert_eq!(trace.packet.len(), 2);
        assert_eq!((trace.packet[0].cleared, trace.packet[1].cleared), (Some(1), None));
        assert_eq!(trace.packet[0].track_descriptor.as_ref(), Some(&track));
        assert_eq!((trace.packet[1].timestamp, trace.packet[1].track_event.as_ref()), (Some(42), Some(&event)));
        assert!(read(&b"\xff\xff\xff"[..]).is_err());
    }
}
