import { spawn } from 'node:child_process';
import { closeSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainError, type Say } from '../terminal.ts';
import type { ProcessGuard } from './guard.ts';
import { followLog, lastLines, openLog } from './log-file.ts';
import { processIdentity } from './processes.ts';

/** A process to start. */
export type PartPlan = {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly logFile: string;
  /** The part with the lowest rank ends first. */
  readonly rank: number;
  readonly signal?: 'SIGTERM' | 'SIGINT';
  /** The longest time to end cleanly, in milliseconds. */
  readonly graceMs: number;
  /** Extracts the message from a log line that the user should see, if any. */
  readonly complaint?: (line: string) => string | undefined;
  readonly uid?: number;
  readonly gid?: number;
};

export type ProcessPart = {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves with the exit code, signal or error when it ends. Never rejects. */
  readonly ended: Promise<string>;
  /** The last lines of its log since this start. */
  readonly readLastOutput: () => string;
};

/** A part ended unexpectedly. The message has the exit code or signal, and its last log lines. */
export class PartFailedError extends PlainError {
  override readonly name = 'PartFailedError';
}

/** Shared by all parts. */
export type Stage = {
  readonly guard: ProcessGuard;
  /** Shows their errors. */
  readonly say: Say;
  /** Aborts when everything is stopping: then nothing more is started or waited for. */
  readonly signal: AbortSignal;
  /** Called for a part that ended and is not restarted, for any reason. */
  readonly onEnd?: (part: ProcessPart, how: string) => void;
};

/** Starts a part in its own process group, with its own log. */
export async function startPart(
  plan: PartPlan,
  { guard, say, signal: over }: Stage,
): Promise<ProcessPart> {
  over.throwIfAborted();
  const { name, command, logFile, rank, graceMs, signal = 'SIGTERM' } = plan;
  const log = openLog(logFile);
  const before = statSync(logFile).size;
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: plan.env,
    ...(plan.cwd ? { cwd: plan.cwd } : {}),
    ...(plan.uid === undefined ? {} : { uid: plan.uid }),
    ...(plan.gid === undefined ? {} : { gid: plan.gid }),
  });
  closeSync(log);
  const stopFollowing = followLog(logFile, (line) => {
    const complaint = plan.complaint?.(line);
    if (complaint && !over.aborted) {
      say(`${name}: ${complaint}`);
    }
  });
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('exit', (code, by) => resolve(by ? `signal ${by}` : `exit code ${code}`));
  });
  void ended.then(stopFollowing);
  const pid = child.pid ?? 0;
  const identity = pid ? ((await processIdentity(pid)) ?? '') : '';
  if (identity) {
    guard.watch({ name, pid, identity, signal, graceMs }, rank);
  }
  const readLastOutput = () => lastLines(logFile, 20, before);
  return { name, pid, logFile, ended, readLastOutput };
}

/** Builds the error of a part that ended, with its last log lines. */
export function partFailed(part: ProcessPart, how: string): PartFailedError {
  const lastOutput = part.readLastOutput();
  const tail = lastOutput ? `\n${lastOutput.replaceAll(/^/gmv, '    ')}` : '';
  return new PartFailedError(`${part.name} ended (${how}).${tail}\n  Full log: ${part.logFile}`);
}

/**
 * Waits until a part is ready.
 *
 * @throws PartFailedError when it ends first, or is not ready within `timeoutMs`.
 */
export async function untilReady(
  part: ProcessPart,
  isReady: () => Promise<boolean>,
  timeoutMs: number,
  over: AbortSignal,
): Promise<void> {
  let how: string | undefined;
  void part.ended.then((end) => {
    how = end;
  });
  const deadline = Date.now() + timeoutMs;
  while (!(await isReady())) {
    over.throwIfAborted();
    if (how !== undefined) {
      throw partFailed(part, how);
    }

    if (Date.now() > deadline) {
      throw partFailed(
        part,
        `not ready after ${Math.round(timeoutMs / 1000)} s, so it was stopped`,
      );
    }
    await sleep(30);
  }
}

/**
 * Whether a URL responds with this status within 2 s.
 *
 * @param host Value of the `Host` header, when it is not the URL's.
 */
export const respondsAt = (url: string, status = 200, host?: string): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = host === undefined ? {} : { host };
    const signal = AbortSignal.timeout(2000);
    const request = get(url, { headers, signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === status);
    });
    request.on('error', () => resolve(false));
  });

/** Returns a response's body, whatever the status. Rejects when there is no response within 5 s. */
export const bodyAt = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(5000);
    get(url, { signal, agent: false }, (response) => resolve(text(response))).on('error', reject);
  });
