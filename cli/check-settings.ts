import { openNetworks } from '../networks/registry.ts';
import { ConfigError } from '../runtime/config/read-values.ts';
import { readConfig } from '../runtime/config.ts';

// Reads the settings and says what is wrong with them, before anything is started: `npm start` calls this.

try {
  readConfig();
  openNetworks(process.env);
} catch (error) {
  if (!(error instanceof ConfigError)) {
    throw error;
  }

  console.error(error.message);
  process.exitCode = 1;
}
