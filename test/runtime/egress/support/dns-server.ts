import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { parseAddress } from '../../../../runtime/egress/addresses.ts';

/** Addresses. A name among them is a CNAME of the name before it, and has the addresses after it. */
export type DnsAnswer = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'silence';
export type DnsQuestion = { readonly name: string; readonly type: 'A' | 'AAAA' };
export type DnsAnswers =
  | Readonly<Record<'A' | 'AAAA', DnsAnswer>>
  | ((question: DnsQuestion) => DnsAnswer);

const responseCodes = { NXDOMAIN: 3, SERVFAIL: 2 } as const;
const types: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

/**
 * A real name server on 127.0.0.1 whose answers have a TTL of 0. A function is called for each query, so that answers
 * may change. Returns its `host:port`.
 */
export async function dnsServer(t: ExecutionContext, answers: DnsAnswers): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, end } = readName(query);
    const type = types[query.readUInt16BE(end)];
    const answer = type ? answerOf(answers, { name, type }) : 'NXDOMAIN';
    if (answer !== 'silence') {
      socket.send(response(query, end + 4, answer), from.port, from.address);
    }
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

const answerOf = (answers: DnsAnswers, question: DnsQuestion): DnsAnswer =>
  typeof answers === 'function' ? answers(question) : answers[question.type];

/** The queried name, and the offset after it. */
function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function response(
  query: Buffer,
  questionEnd: number,
  answer: readonly string[] | keyof typeof responseCodes,
): Buffer {
  const code = typeof answer === 'string' ? responseCodes[answer] : 0;
  const records = typeof answer === 'string' ? [] : recordsOf(answer);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, questionEnd), ...records]);
}

function recordsOf(answer: readonly string[]): Buffer[] {
  // The first owner is the question's name, which this pointer refers to.
  let owner: Buffer = Buffer.from([0xc0, 12]);
  return answer.map((text) => {
    const address = parseAddress(text);
    if (!address) {
      const alias = encodeName(text);
      const cname = record(owner, 5, alias);
      owner = alias;
      return cname;
    }

    const data = Buffer.from(address.parsed.toByteArray());
    return record(owner, address.family === 4 ? 1 : 28, data);
  });
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.from([0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
  return Buffer.concat([owner, head, data]);
}

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);
