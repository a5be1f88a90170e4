import { failuresToPause, pauses } from '../../domain/server-health.ts';

/**
 * Part of a statement: the server answered, whatever it said. Of a server that is well there is no row to write.
 *
 * @param first The number of the value that is the platform; the next one is the server's base URL.
 */
export const closeCircuit = (first: number): string => `update server_circuits
  set failures = 0, pauses = 0, open_until = null
  where platform = $${first} and base_url = $${first + 1} and failures > 0`;

const failures = 'circuit.failures + 1';
/** Tries that began before a pause and fail in it say nothing new, so many of them make one pause. */
const begins = `${failures} >= ${failuresToPause} and coalesce(circuit.open_until <= clock_timestamp(), true)`;
const pauseMs = `least(${pauses.firstMs} * power(2, least(circuit.pauses, 30)), ${pauses.longestMs})`;

/** Part of a statement: the server did not answer. As many times in a row as it takes, a pause begins; then each time. */
export const countFailure = (
  first: number,
): string => `insert into server_circuits as circuit (platform, base_url, failures, pauses)
  values ($${first}, $${first + 1}, 1, 0)
  on conflict (platform, base_url) do update set failures = ${failures},
    pauses = circuit.pauses + (${begins})::int,
    open_until = case when ${begins} then clock_timestamp() + ${pauseMs} * interval '1 millisecond'
      else circuit.open_until end`;
