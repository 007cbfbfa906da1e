//! What etcd's errors mean here: one table.
