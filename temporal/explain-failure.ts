import { NamespaceNotFoundError } from '@temporalio/common';
import { causesOf } from '../domain/errors.ts';
import { probeServer } from '../runtime/egress/probe-server.ts';
import type { Explain, Trouble } from '../runtime/process.ts';
import { grpcErrorIn, hasGrpcCode } from './connect.ts';
import { OtherDatabaseError } from './namespace.ts';
import type { temporalOptions } from './settings.ts';

/** In milliseconds. A new namespace is unknown to some servers for several seconds. */
const namespaceUnknownMs = 20_000;

/** Explains why Temporal cannot be used at the start of a process: the libraries' errors name no setting. */
export const explainTemporalFailure =
  (options: ReturnType<typeof temporalOptions>): Explain =>
  async (error) => {
    if (causesOf(error).some((cause) => cause instanceof OtherDatabaseError)) {
      return { reason: error instanceof Error ? error.message : '', finalAfterMs: 0 };
    }

    return refusal(error, options.namespace) ?? (await connectionTrouble(error, options));
  };

function refusal(error: unknown, namespace: string): Trouble | undefined {
  const details = grpcErrorIn(error)?.details ?? '';
  const messages = causesOf(error).map(({ message }) => message);
  if (
    causesOf(error).some((cause) => cause instanceof NamespaceNotFoundError) ||
    [details, ...messages].some((text) => /namespace .*not found/iv.test(text))
  ) {
    return {
      reason: `Temporal has no namespace "${namespace}". Correct TEMPORAL_NAMESPACE, or create the namespace.`,
      finalAfterMs: namespaceUnknownMs,
    };
  }

  return hasGrpcCode(error, 'permissionDenied', 'unauthenticated')
    ? {
        reason: `Temporal refuses this process: ${details}. Check TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_NAMESPACE.`,
        finalAfterMs: 0,
      }
    : undefined;
}

async function connectionTrouble(
  error: unknown,
  { connectionOptions: { address = 'localhost:7233', tls } }: ReturnType<typeof temporalOptions>,
): Promise<Trouble | undefined> {
  const { host, port } = /^\[?(?<host>.+?)\]?(?::(?<port>\d+))?$/v.exec(address)?.groups ?? {};
  const { kind, said } = await probeServer(
    host ?? address,
    Number(port ?? 7233),
    tls === true ? {} : (tls ?? false),
  );
  switch (kind) {
    case 'unreachable':
      return {
        reason: `Temporal cannot be reached at ${address}: ${said}. Check TEMPORAL_ADDRESS.`,
      };
    case 'speaks-no-tls':
      return {
        reason: `Temporal at ${address} (TEMPORAL_ADDRESS) does not speak TLS. Set TEMPORAL_TLS=false, and no TEMPORAL_TLS_… and TEMPORAL_API_KEY, or correct the port.`,
        finalAfterMs: 0,
      };
    case 'speaks-tls':
      return {
        reason: `Temporal at ${address} (TEMPORAL_ADDRESS) speaks TLS only. Set TEMPORAL_TLS=true.`,
        finalAfterMs: 0,
      };
    case 'refuses-tls':
      return {
        reason: `The TLS connection to Temporal at ${address} (TEMPORAL_ADDRESS) failed: ${said}. Check TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH.`,
        finalAfterMs: 0,
      };
    default:
      return hasGrpcCode(error, 'deadlineExceeded', 'unavailable', 'cancelled')
        ? {
            reason: `Temporal at ${address} (TEMPORAL_ADDRESS) does not answer. Check that this is the gRPC port of Temporal, usually 7233.`,
          }
        : undefined;
  }
}
