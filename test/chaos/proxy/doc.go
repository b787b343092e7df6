// Package proxy stands between the bridge and its neighbours and does there what networks and servers do in bad times: it refuses, cuts, stalls,
// loses answers and answers wrongly, at a chosen moment.
//
//   - [Proxy] forwards bytes, and knows a moment by a text that the client sends.
//   - [NewKafka] makes one that knows the requests of the Kafka protocol. Brokers tell clients where to go on; those answers are written anew, so
//     that a client stays with the proxy. It serves one broker.
//   - [Registry] forwards HTTP.
//
// All of them listen on 127.0.0.1, and do nothing by themselves: what goes wrong, the caller says.
package proxy
