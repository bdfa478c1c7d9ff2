//! What a run amounts to, held to queues and to fio's own JSON.

mod fio_json;
mod queue;
mod waiting;
