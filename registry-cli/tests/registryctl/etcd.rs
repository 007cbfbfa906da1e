//! Two processes and one real etcd.

mod beside;
mod child;
mod operator;
mod owner;
mod place;
