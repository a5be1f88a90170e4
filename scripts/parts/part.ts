import { spawn } from 'node:child_process';
import { closeSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainError, type Say } from '../terminal.ts';
import type { Guard } from './guard.ts';
import { followLog, lastLines, openLog } from './log-file.ts';
import { processIdentity } from './processes.ts';

/** What a part of the running whole is, before it is started. */
export type PartPlan = {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly logFile: string;
  /** Orders the end of all parts: the lowest first. */
  readonly rank: number;
  readonly signal?: 'SIGTERM' | 'SIGINT';
  /** Milliseconds it may take to end cleanly. */
  readonly graceMs: number;
  /** What of a log line people should see at once, if anything. */
  readonly complaint?: (line: string) => string | undefined;
  readonly uid?: number;
  readonly gid?: number;
};

export type Part = {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** How it ended. Never rejects. */
  readonly ended: Promise<string>;
  /** The last lines that it wrote. */
  readonly lastWords: () => string;
};

/** A part that ended although it was not stopped. Its message tells how, and what it wrote last. */
export class PartFailedError extends PlainError {
  override readonly name = 'PartFailedError';
}

/** What parts share. */
export type Stage = {
  /** Ends them. */
  readonly guard: Guard;
  /** Shows their complaints. */
  readonly say: Say;
  /** Aborts when everything is to end: then nothing more is started or waited for. */
  readonly signal: AbortSignal;
  /** Called for a part that ended and is not started again, whatever the reason. */
  readonly onEnd?: (part: Part, how: string) => void;
};

/** Starts a part in a process group of its own, writing to its own log. */
export async function startPart(
  plan: PartPlan,
  { guard, say, signal: over }: Stage,
): Promise<Part> {
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
  const lastWords = () => lastLines(logFile, 20, before);
  return { name, pid, logFile, ended, lastWords };
}

/** Says that a part is gone, with its last lines. */
export function partFailed(part: Part, how: string): PartFailedError {
  const words = part.lastWords();
  const tail = words ? `\n${words.replaceAll(/^/gmv, '    ')}` : '';
  return new PartFailedError(`${part.name} ended (${how}).${tail}\n  All of it: ${part.logFile}`);
}

/**
 * Waits until a part does its work.
 *
 * @throws PartFailedError when it ends first, or is not ready within `timeoutMs`.
 */
export async function untilReady(
  part: Part,
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
 * Whether an address answers as wanted. Away, silent or slow is a no.
 *
 * @param host By which name it is asked for, where that is another one.
 */
export const answers = (url: string, status = 200, host?: string): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = host === undefined ? {} : { host };
    const signal = AbortSignal.timeout(2000);
    const request = get(url, { headers, signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === status);
    });
    request.on('error', () => resolve(false));
  });

/** What an address of ours answers, whatever the status. Rejects when there is no answer within 5 s. */
export const bodyAt = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(5000);
    get(url, { signal, agent: false }, (response) => resolve(text(response))).on('error', reject);
  });
