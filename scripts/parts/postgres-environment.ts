/** What programs need of the world to run at all; the last three on Windows. */
const needed = new Set(['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP']);

/**
 * The environment of PostgreSQL: none of our settings and secrets, which whoever runs as PostgreSQL's user could read
 * there, and which `COPY … TO PROGRAM` would hand on.
 */
export function postgresEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => needed.has(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
