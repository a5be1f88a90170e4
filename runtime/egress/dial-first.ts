import { Socket } from 'node:net';
import type { Address } from './address.ts';
import { toEgressError } from './egress-error.ts';

/** How long one attempt has the time to itself (RFC 8305, section 5). */
const attemptDelayMs = 250;

/** How many of a name's addresses are dialled for one connection: its owner may list as many as they like. */
const mostDialled = 8;

/** A connected socket, or why there is none. */
export type Outcome = Socket | Error;

/**
 * Begins a connection to one address. Its socket may be returned at once, while it is still being made, so that an
 * attempt that is no longer wanted can be closed.
 */
export type Dial = (address: Address, settle: (outcome: Outcome) => void) => unknown;

/**
 * Connects to the first of these addresses that takes the connection (RFC 8305, "happy eyeballs"): families by turns,
 * the next address a quarter of a second after the one before or as soon as that fails. The others are closed.
 *
 * @param done Gets the socket in the tick in which it is connected, or the failure that came first. An address that
 * may not be dialled ends all attempts.
 */
export function dialFirst(
  addresses: readonly Address[],
  dial: Dial,
  done: (outcome: Outcome) => void,
): void {
  const waiting = byTurns(addresses).slice(0, mostDialled);
  const connecting = new Set<Socket>();
  const failures: Error[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  const end = (outcome: Outcome) => {
    isOver = true;
    clearTimeout(timer);
    for (const socket of connecting) {
      if (socket !== outcome) {
        close(socket);
      }
    }

    done(outcome);
  };

  const settle = (outcome: Outcome) => {
    underWay -= 1;
    if (isOver) {
      close(outcome);
      return;
    }

    if (!(outcome instanceof Error) || isBlocked(outcome)) {
      end(outcome);
      return;
    }

    failures.push(outcome);
    if (waiting.length > 0) {
      next();
    } else if (underWay === 0) {
      end(failures[0] ?? outcome);
    }
  };

  const next = () => {
    clearTimeout(timer);
    const address = waiting.shift();
    if (address) {
      underWay += 1;
      timer = waiting.length > 0 ? setTimeout(next, attemptDelayMs) : undefined;
      const socket = dial(address, settle);
      if (socket instanceof Socket) {
        connecting.add(socket);
      }
    }
  };
  next();
}

/** The families by turns, the first one first; each in its own order (RFC 8305, section 4). */
function byTurns(addresses: readonly Address[]): Address[] {
  const family = addresses[0]?.family;
  const [preferred, others] = [
    addresses.filter((address) => address.family === family),
    addresses.filter((address) => address.family !== family),
  ];
  return addresses.flatMap((_, turn) =>
    [preferred[turn], others[turn]].filter((address) => address !== undefined),
  );
}

const isBlocked = (error: Error): boolean =>
  toEgressError(error, { maybeSent: false }).code === 'blocked_destination';

/** It was handed to no caller, so its failure is no caller's either. */
function close(outcome: Outcome): void {
  if (outcome instanceof Socket) {
    outcome.on('error', () => {}).destroy(new Error('Another address was faster.'));
  }
}
