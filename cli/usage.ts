import type { Command } from './command.ts';
import { commands } from './commands.ts';

/** What `npm run admin` can do, a line per command. */
export function usage(): string {
  const lines = Object.entries(commands).map(([name, command]) => {
    const { places, summary }: Command = command;
    return `  ${[name, ...places, ...optionsOf(command)].join(' ')}\n      ${summary}`;
  });
  return `npm run admin -- COMMAND …   (--json for programs)\n\n${lines.join('\n')}`;
}

function optionsOf({ options, oneOf = [] }: Command): string[] {
  const spelled = (option: string): string =>
    [`--${option}`, options[option]?.placeholder].filter(Boolean).join(' ');
  const others = Object.keys(options).filter((option) => !oneOf.includes(option));
  return [
    ...(oneOf.length > 0 ? [oneOf.map(spelled).join('|')] : []),
    ...others.map((option) =>
      options[option]?.required ? spelled(option) : `[${spelled(option)}]`,
    ),
  ];
}
