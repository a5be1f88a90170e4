import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { parseAddress } from '../../../../runtime/egress/address.ts';

export type DnsAnswer = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'silence';
const responseCodes = { NXDOMAIN: 3, SERVFAIL: 2 } as const;
const types: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

/** A real name server on 127.0.0.1 that knows one answer per family. Returns its `host:port`. */
export async function dnsServer(
  t: ExecutionContext,
  answers: Readonly<Record<'A' | 'AAAA', DnsAnswer>>,
): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const type = types[query.readUInt16BE(endOfName(query))];
    const answer = type ? answers[type] : 'NXDOMAIN';
    if (answer !== 'silence') {
      socket.send(response(query, answer), from.port, from.address);
    }
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

function endOfName(query: Buffer): number {
  let at = 12;
  while (query[at] !== 0) {
    at += 1 + (query[at] ?? 0);
  }
  return at + 1;
}

function response(query: Buffer, answer: readonly string[] | keyof typeof responseCodes): Buffer {
  const code = typeof answer === 'string' ? responseCodes[answer] : 0;
  const records = typeof answer === 'string' ? [] : answer.map(record);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, endOfName(query) + 4), ...records]);
}

/** Names its owner by pointing back at the question, and lives for no time at all. */
function record(text: string): Buffer {
  const address = parseAddress(text);
  if (!address) {
    throw new Error(`${text} is not an address.`);
  }

  const width = address.family === 4 ? 4 : 16;
  const head = Buffer.from([0xc0, 12, 0, width === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, width]);
  const data = Buffer.from(address.bits.toString(16).padStart(width * 2, '0'), 'hex');
  return Buffer.concat([head, data]);
}
