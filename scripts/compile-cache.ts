import path from 'node:path';

const folder = path.join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled');

/** Makes the processes that this one starts cache their compiled code, which halves their loading time. */
export function shareCompiledCode(): void {
  process.env['NODE_COMPILE_CACHE'] ??= folder;
}
