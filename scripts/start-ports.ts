import type { DataFolder } from './data-folder.ts';
import { choosePorts } from './ports.ts';
import type { StartSettings } from './start-settings.ts';

const names = ['api', 'postgres', 'temporal', 'temporalHttp', 'temporalUi', 'sandbox'] as const;

export type StartPorts = Readonly<Record<(typeof names)[number], number>>;

/**
 * Ports for all parts: what a person has set, else those of the last start as long as they are free.
 *
 * @throws PlainError naming a port that is taken and the setting that changes it
 */
export async function chooseStartPorts(
  settings: StartSettings,
  data: DataFolder,
): Promise<StartPorts> {
  const before = await data.readPorts();
  const wish = (what: string, variable: string, fixed: number | undefined, kept?: number) => ({
    what,
    variable,
    ...(fixed === undefined ? {} : { fixed }),
    ...(kept === undefined ? {} : { preferred: kept }),
  });
  const { host, apiPort, postgresPort, temporalPort, temporalUiPort, sandboxPort } = settings;
  // A person's own choices come first, so that no other part takes them.
  const ports = await choosePorts({
    api: { ...wish('the API', 'PORT', apiPort), host },
    postgres: wish('PostgreSQL', 'PUNCTUAL_POSTGRES_PORT', postgresPort, before['postgres']),
    temporal: wish('Temporal', 'PUNCTUAL_TEMPORAL_PORT', temporalPort, before['temporal']),
    temporalUi: wish(
      "Temporal's Web UI",
      'PUNCTUAL_TEMPORAL_UI_PORT',
      temporalUiPort,
      before['temporalUi'],
    ),
    sandbox: wish('the sandbox', 'PUNCTUAL_SANDBOX_PORT', sandboxPort, before['sandbox']),
    temporalHttp: { what: "Temporal's HTTP API", variable: 'nothing' },
  });
  await data.writePorts(ports);
  return ports;
}
