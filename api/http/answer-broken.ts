import type { Context } from 'koa';
import { statusOf } from './statuses.ts';

type Socket = Context['req']['socket'];

/** By the error's code; everything else is 400. */
const refusals: Readonly<Record<string, { status: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'The headers of the request are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: 'The request did not come within its time.',
  },
};

const broken = {
  status: `${statusOf.invalid_request} Bad Request`,
  error: 'The request is not well-formed HTTP.',
};

/**
 * Answers what is no HTTP, and therefore never gets to Koa, in the one shape of errors. For the server's
 * `clientError`.
 */
export function answerBroken(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }

  const refusal = refusals[error.code ?? ''] ?? broken;
  const body = JSON.stringify({ error: refusal.error, code: 'invalid_request' });
  socket.end(
    [
      `HTTP/1.1 ${refusal.status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${crypto.randomUUID()}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

/** Whether an answer to an earlier part of the connection is on its way; Node keeps it there, and looks there too. */
function isAnswering(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  const { _httpMessage: answer } = socket;
  return typeof answer === 'object' && answer !== null && 'headersSent' in answer
    ? answer.headersSent === true
    : false;
}
