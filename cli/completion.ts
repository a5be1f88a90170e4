import { command } from './command.ts';
import { buildRouteMap } from '@stricli/core';

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

export const completion = buildRouteMap({
  routes: { bash: scriptOf('bash'), zsh: scriptOf('zsh'), fish: scriptOf('fish') },
  docs: { brief: 'Prints a completion script for bash, zsh or fish' },
});
