import type { Stage } from '../../scripts/parts/part.ts';
import { machineFacts } from '../machine.ts';
import { inOwnFolder } from '../whole/in-own-folder.ts';
import { compare } from './compare.ts';
import { measureHung } from './hung.ts';
import { measureIsolation } from './isolation.ts';
import { readOptions, type Options } from './options.ts';
import { makeWorld } from './world.ts';

/**
 * `npm run bench webhooks -- [--deliveries 5000] [--rounds 3] [--only bare,punctual,isolation,hung]
 * [--endpoints 100] [--waiting 400] [--profile folder]`. What hangs takes ten minutes or more, and is measured when it is named.
 * @returns whether every target was met.
 */
export function run(args: readonly string[]): Promise<boolean> {
  const options = readOptions(args);
  return inOwnFolder((folder, stage) => measureAll(folder, stage, options));
}

async function measureAll(folder: string, stage: Stage, options: Options): Promise<boolean> {
  const world = await makeWorld(folder, stage, options.profile);
  try {
    const [row] = await world.orm.em.fork().execute<object[]>('show server_version');
    machineFacts(Object.values(row ?? {}).join()).forEach(stage.say);
    const isolates = options.only.includes('isolation') ? await measureIsolation(world) : true;
    const rests = options.only.includes('hung') ? await measureHung(world, options.hung) : true;
    return (await compare(world, options)) && isolates && rests;
  } finally {
    await world.orm.close();
  }
}
