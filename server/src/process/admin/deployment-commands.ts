import type { Command } from 'commander'
import { abandonDeployment } from '../../features/deployments/changes/abandon.ts'
import { identifyOperator } from '../../features/operators/operator.ts'
import type { Shell } from './shell.ts'

/** Adds the command for deployments on runtimes that were taken away. */
export function addDeploymentCommands(program: Command, shell: Shell): void {
  program
    .command('deployments')
    .description('End deployments on runtimes that are not configured anymore')
    .command('abandon <id>')
    .description('terminate a deployment, and leave its instances there to whoever runs them')
    .action((id: string) =>
      shell.withApplication(async (application) => {
        const runtimes = await abandonDeployment(application, identifyOperator(), id)
        if (runtimes.length > 0)
          return shell.print(`Abandoned. Check that nothing of it is left on ${runtimes.join(', ')}.`)
        shell.fail('All runtimes of this deployment are configured. Terminate it instead.')
      }),
    )
}
