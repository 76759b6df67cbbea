#pragma once

/// The server's clock in microseconds since 1970. Not now(), which is that of the transaction's
/// begin: a statement may have waited for a lock since.
#define STRATA_POSTGRES_NOW "((extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
