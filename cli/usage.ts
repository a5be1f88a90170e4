import { commands } from './commands.ts';

/** What `npm run admin` can do, a line per command. */
export function usage(): string {
  const lines = Object.entries(commands).map(([name, { places, options, summary }]) => {
    const wanted = Object.entries(options).map(([option, { placeholder, required }]) =>
      required ? `--${option} ${placeholder}` : `[--${option} ${placeholder}]`,
    );
    return `  ${[name, ...places, ...wanted].join(' ')}\n      ${summary}`;
  });
  return `npm run admin -- COMMAND …   (--json for programs)\n\n${lines.join('\n')}`;
}
