"""Decodes a picture with the classes of the package perfetto and holds it to the rules of the format."""
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
tracks, open_, flows, events = {}, {}, {}, []
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField('track_descriptor'):
        track = packet.track_descriptor
        assert track.uuid not in tracks and (not track.HasField('parent_uuid') or track.parent_uuid in tracks)
        tracks[track.uuid] = track
    if packet.HasField('track_event'):
        events.append((packet.timestamp, packet.track_event))
events.sort(key=lambda e: e[0])
slices = 0
for at, event in events:
    assert event.track_uuid in tracks
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.name
        open_.setdefault(event.track_uuid, []).append(at)
        slices += 1
    elif event.type == TrackEvent.TYPE_SLICE_END:
        assert open_[event.track_uuid].pop() <= at
    elif event.type == TrackEvent.TYPE_COUNTER:
        assert event.counter_value >= 0
    for flow in event.flow_ids: flows.setdefault(flow, [0, 0])[0] += 1
    for flow in event.terminating_flow_ids: flows.setdefault(flow, [0, 0])[1] += 1
assert not any(open_.values()), 'slices that do not close'
assert flows and all(ends == 1 for _, ends in flows.values()), 'flows that do not pair'
print(f'{len(tracks)} tracks, {slices} slices, {len(flows)} flows')
