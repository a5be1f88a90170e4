import { spawn } from 'node:child_process';
import { buildRouteMap } from '@stricli/core';
import manifest from './package.json' with { type: 'json' };
import { analytics } from './client/analytics.ts';
import { api } from './client/api.ts';
import { auth, key, whoami } from './client/auth.ts';
import { channel } from './client/channels.ts';
import { media } from './client/media.ts';
import { post } from './client/posts/routes.ts';
import { webhook } from './client/webhooks.ts';
import { command, type Command, type Context } from './command.ts';
import { CommandError } from './failures.ts';
import { listen } from './listen.ts';
import { runApplication } from './run-application.ts';
import { trigger } from './trigger.ts';

type Routes = Parameters<typeof buildRouteMap<string, Context>>[0]['routes'];
type Route = Routes[string];

const noAdmin: Command = command({
  brief: "Runs the operator's commands, where Punctual itself is installed",
  run: async () => {
    throw new CommandError(
      'The operator\'s commands are in the repository and the image of Punctual: "npm run admin -- help" or "docker compose run --rm admin help".',
    );
  },
});

const mcp = command({
  brief: 'Serves tools for assistants on standard input and output (MCP)',
  description:
    'Serves the tools of docs/guides/mcp.md to an assistant that starts this command. Messages of the protocol alone are on standard output.',
  run: async ({ client: openClient }) => {
    const client = await openClient();
    const { serveMcpOverStdio } = await import('../mcp/stdio.ts');
    await serveMcpOverStdio(client);
    return { data: '', text: '' };
  },
});

const programs: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

const open = command({
  brief: 'Opens the reference of the API in a browser',
  run: async ({ access }) => {
    const url = `${(await access()).url}/docs`;
    const [program = '', ...args] = programs[process.platform] ?? ['xdg-open'];
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
    // Without a browser, the printed address is enough.
    child.on('error', () => undefined).unref();
    return { data: { url }, text: url };
  },
});

// Each script asks the command itself, by the hidden `punctual __complete WORDS… LAST`.

const scripts = {
  bash: `_punctual() { local IFS=$'\\n'; COMPREPLY=($(punctual __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)); }
complete -F _punctual punctual`,
  zsh: `_punctual() { local -a found; found=("\${(@f)$(punctual __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"); compadd -a found; }
compdef _punctual punctual`,
  fish: `complete -c punctual -f -a '(punctual __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};

const places = {
  bash: 'source <(punctual completion bash)   # in ~/.bashrc',
  zsh: 'source <(punctual completion zsh)   # in ~/.zshrc, after compinit',
  fish: 'punctual completion fish | source   # in ~/.config/fish/config.fish',
};

const scriptOf = (shell: keyof typeof scripts) =>
  command({
    brief: `Prints the completion script for ${shell}`,
    description: `Prints the completion script for ${shell}. Use it by:\n\n  ${places[shell]}`,
    run: async () => ({ data: scripts[shell], text: scripts[shell] }),
  });

const completion = buildRouteMap({
  routes: { bash: scriptOf('bash'), zsh: scriptOf('zsh'), fish: scriptOf('fish') },
  docs: { brief: 'Prints a completion script for bash, zsh or fish' },
});

/** The operator's commands: not in the package, and loaded only when they are asked for. */
async function adminRoute(): Promise<Route> {
  const found = await import('./admin/routes.ts').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') {
      return null;
    }

    throw error;
  });
  return found ? found.adminRoutes() : noAdmin;
}

/** Runs `punctual …` and sets the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  process.stdout.on('error', endWhenClosed);
  const [first] = args[0] === '__complete' ? args.slice(1) : args;
  const admin = first === 'admin' ? await adminRoute() : noAdmin;
  // Without the operator's commands, whatever follows `admin` gets the same answer.
  const words = first === 'admin' && admin === noAdmin ? ['admin'] : args;
  const { version } = manifest;
  process.exitCode = await runApplication(rootOf(admin), { name: 'punctual', version }, words);
}

const rootOf = (admin: Route) =>
  buildRouteMap<string, Context>({
    routes: {
      auth,
      whoami,
      channel,
      post,
      media,
      analytics,
      webhook,
      listen,
      trigger,
      key,
      api,
      open,
      mcp,
      completion,
      admin,
    },
    docs: {
      brief: 'Schedules posts to social networks with Punctual',
      fullDescription: [
        'Schedules posts to social networks with Punctual.',
        '',
        'Every command has --help, and --json for programs.',
        'The key comes from PUNCTUAL_API_KEY and PUNCTUAL_URL, or from a profile: "punctual auth login".',
      ].join('\n'),
    },
  });

/** The reader of a pipe, such as `head`, may close it early. */
function endWhenClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') {
    throw error;
  }

  process.exit();
}
