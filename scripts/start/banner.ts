import type { Demo } from './prepare-database.ts';

/** The URLs of the running parts. */
export type Addresses = {
  readonly api: string;
  readonly sandbox: string;
  /** Undefined when the user runs Temporal and the URL of its Web UI is not set. */
  readonly temporalUi: string | undefined;
};

/** The message of `npm start` when everything is ready. */
export function banner(addresses: Addresses, demo: Demo, seconds: number, logs: string): string {
  const { api, sandbox, temporalUi } = addresses;
  const rows = [
    ['API', `${api}/api/v1`],
    ['Docs', `${api}/docs`],
    ['Temporal UI', temporalUi ?? 'on your own server (PUNCTUAL_TEMPORAL_UI_URL is not set)'],
    ['Sandbox', `${sandbox}/ (shows the posts of the demo channels)`],
    ['API key', `${demo.apiKey} (of the demo workspace)`],
    ['Command', 'npm run -s punctual -- whoami --profile local'],
  ];
  const width = Math.max(...rows.map(([name = '']) => name.length)) + 2;
  const table = rows.map(([name = '', value]) => `  ${name.padEnd(width)}${value}`).join('\n');
  return [
    `\nPunctual is ready (${seconds.toFixed(1)} s).\n`,
    table,
    '\nSchedule a text post to the demo channels, due in six seconds:\n',
    curl(api, demo),
    `\nLogs are in ${logs}. Ctrl-C stops everything; "npm start" continues with the same data.\n`,
  ].join('\n');
}

/** A command to paste. */
function curl(api: string, { apiKey, channels }: Demo): string {
  const texts = channels.filter(({ takesText }) => takesText);
  const ids = texts.map(({ id }) => `"${id}"`).join(', ');
  const body = `{"body": "Hello from Punctual", "channel_ids": [${ids}], "schedule_in_minutes": 0.1}`;
  return [
    `curl -X POST ${api}/api/v1/posts \\`,
    `  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}
