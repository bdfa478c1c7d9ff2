//! What a run amounts to, held to queues and to fio's own JSON.

mod fio_json;
mod own_calls;
mod queue;
mod waiting;
