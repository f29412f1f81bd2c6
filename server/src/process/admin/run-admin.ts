import { Command, CommanderError } from 'commander'
import { ApplicationError } from '../../base/errors.ts'
import { ConfigError } from '../../config/config.ts'
import { EmbeddedDatabaseError } from '../../database/embedded/error.ts'
import { addClusterCommands } from './cluster-commands.ts'
import { addDeploymentCommands } from './deployment-commands.ts'
import { addEngineCommands } from './engine-commands.ts'
import { addCatalogCommands, addWeightCommands } from './model-commands.ts'
import {
  addAuditCommands,
  addOperatorCommands,
  addOrganizationCommands,
  addUserCommands,
} from './people-commands.ts'
import { addChecks, addDatabaseCommands, addInstallationCommands } from './server-commands.ts'
import { Shell } from './shell.ts'
import type { Terminal } from './shell.ts'

/** Runs a command of `npm run admin`. Resolves to its exit code. */
export async function runAdmin(args: readonly string[], { settings, console }: Terminal): Promise<number> {
  const shell = new Shell(settings, console)
  const program = new Command('npm run admin --')
    .description('Operate a Berth server with its own settings.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
    })
  addOrganizationCommands(program, shell)
  addUserCommands(program, shell)
  addOperatorCommands(program, shell)
  addDeploymentCommands(program, shell)
  addDatabaseCommands(program, shell)
  addInstallationCommands(program, shell)
  addAuditCommands(program, shell)
  addCatalogCommands(program, shell)
  addWeightCommands(program, shell)
  addEngineCommands(program, shell)
  addClusterCommands(program, shell)
  addChecks(program, shell)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    if (!isForOperator(error)) throw error
    shell.fail(error.message)
  }
  return shell.exitCode
}

/** Whether the message names a remedy, so that the place in the code tells nothing more. */
function isForOperator(error: unknown): error is Error {
  return [ApplicationError, ConfigError, EmbeddedDatabaseError].some((kind) => error instanceof kind)
}
