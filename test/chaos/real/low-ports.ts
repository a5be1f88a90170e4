import { once } from 'node:events';
import { createServer } from 'node:net';

/** Temporal's tables store the ports of its services as signed 16-bit numbers. */
const highest = 32_767;
const lowest = 10_000;

/** Finds free ports of the loopback interface below 32,768. */
export async function lowPorts<Name extends string>(
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const ports = new Set<number>();
  while (ports.size < names.length) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) {
      ports.add(port);
    }
  }

  const found = [...ports];
  return Object.fromEntries(names.map((name, index) => [name, found[index]])) as Record<
    Name,
    number
  >;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }

  server.close();
  await once(server, 'close');
  return true;
}
