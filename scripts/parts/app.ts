import path from 'node:path';
import { startPart, type Part, type Stage } from './part.ts';

export type AppPlan = {
  readonly name: string;
  /** The entry point, from the root of the project. */
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly rank: number;
  /** Milliseconds it may take to finish what it is at. */
  readonly graceMs: number;
};

/** pino's number for errors; what is worse has higher ones. */
const errorLevel = 50;

/** Starts one of our own processes. */
export async function startApp(
  { main, ...plan }: AppPlan,
  root: string,
  stage: Stage,
): Promise<Part> {
  const command = [process.execPath, path.join(root, main)];
  const part = await startPart({ ...plan, command, cwd: root, complaint }, stage);
  void part.ended.then((how) => stage.onEnd?.(part, how));
  return part;
}

/** Our processes log JSON. What is not JSON was written by Node, as it ended with an error. */
function complaint(line: string): string | undefined {
  const entry = parsed(line);
  if (!entry || Number(entry['level']) < errorLevel) {
    return undefined;
  }

  const error = entry['error'] as { message?: unknown } | undefined;
  return [entry['msg'], error?.message].filter(Boolean).join(': ');
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
