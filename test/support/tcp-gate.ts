import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type TcpGate = {
  /** On 127.0.0.1, the same after each opening. */
  readonly port: number;
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** The number of connections through it now. */
  readonly passing: () => number;
  /** Cuts every connection and refuses new ones, as if the server were down. */
  close(): Promise<void>;
  /** Lets connections through again. */
  open(): Promise<void>;
  /** Blocks all bytes on the existing connections without closing them, as after a pulled cable. */
  freeze(): void;
};

/**
 * Puts a gate before a server on the loopback, for one test. It starts open.
 *
 * @param target Host and port of the server.
 */
export async function tcpGate(
  t: ExecutionContext,
  target: { readonly host: string; readonly port: number },
): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const pass = (near: Socket): void => {
    const far = connect(target);
    keep(near);
    keep(far);
    near.pipe(far).pipe(near);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  };

  let server = await listening(0, pass);
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    if (!server.listening) {
      return;
    }

    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) {
      socket.destroy();
    }

    await closed;
  };
  t.teardown(close);

  return {
    port,
    address: `127.0.0.1:${port}`,
    passing: () => sockets.size / 2,
    close,
    open: async () => {
      if (!server.listening) {
        server = await listening(port, pass);
      }
    },
    freeze: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
  };
}

async function listening(port: number, pass: (socket: Socket) => void): Promise<Server> {
  const server = createServer(pass);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** The same URL through a gate. */
export function throughGate(url: string, gate: TcpGate): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(gate.port);
  return through.href;
}

/** Host and port of a URL or a `host:port`. @param defaultPort For a URL without a port. */
export function targetOf(address: string, defaultPort = 5432): { host: string; port: number } {
  const { hostname, port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  return { host: hostname, port: port === '' ? defaultPort : Number(port) };
}
