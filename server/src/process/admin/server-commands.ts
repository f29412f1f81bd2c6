import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import type { Command } from 'commander'
import { exportDatabase } from '../../database/export.ts'
import { forkInstallation, takeOver } from '../../features/operators/copied-database.ts'
import { examine } from '../../features/operators/doctor.ts'
import { identifyOperator } from '../../features/operators/operator.ts'
import type { Shell } from './shell.ts'

/** Adds the command that exports the database. */
export function addDatabaseCommands(program: Command, shell: Shell): void {
  program
    .command('database')
    .description('Move the database')
    .command('export <file>')
    .description('write all rows to a new file for psql')
    .action((path: string) =>
      shell.withApplication(async ({ db }) => {
        // The rows contain hashes of passwords.
        const file = await open(path, 'wx', 0o600)
        try {
          await exportDatabase(db, (text) => file.appendFile(text))
          await file.sync()
        } catch (error) {
          await rm(path, { force: true })
          throw error
        } finally {
          await file.close()
        }
        shell.print(`Exported to ${path}. docs/operations.md says how to import it.`)
      }),
    )
}

/** Adds the commands that say what a copied database is. */
export function addInstallationCommands(program: Command, shell: Shell): void {
  const installation = program.command('installation').description('Say what a restored database is')
  for (const [name, description, done, run] of [
    [
      'take-over',
      'the original is gone: continue it here',
      'Taken over. Workers begin within seconds.',
      takeOver,
    ],
    [
      'fork',
      'the original goes on: forget its engines, emails and customers',
      'Forked. The deployments sleep, and paying organizations activate billing again.',
      forkInstallation,
    ],
  ] as const) {
    installation
      .command(name)
      .description(description)
      .action(() =>
        shell.withApplication(async (application) => {
          const refusal = await run(application, identifyOperator())
          if (refusal === null) shell.print(done)
          else shell.fail(refusal)
        }),
      )
  }
}

/** Adds the commands that check the server. */
export function addChecks(program: Command, shell: Shell): void {
  program
    .command('mail')
    .description('Check email')
    .command('test <address>')
    .description('send a test email now')
    .action((to: string) =>
      shell.withApplication(async ({ mailer, config }) => {
        const text = 'This server can send email.'
        const messageId = `<${randomUUID()}@${config.publicUrl.hostname}>`
        const delivery = await mailer.send({
          to,
          subject: 'Berth test',
          text,
          html: `<p>${text}</p>`,
          messageId,
        })
        if (delivery.outcome === 'sent') return shell.print('Sent.')
        shell.fail(`Not sent: ${delivery.reason} Check MAIL_URL and MAIL_FROM.`)
      }),
    )

  program
    .command('doctor')
    .description(
      'check the database, mail, runtime, disk, clock, keys, webhooks and the servers that Berth calls',
    )
    .action(() =>
      shell.withApplication(async (application) => {
        for (const { subject, state, remedy } of await examine(application)) {
          shell.print(
            `${remedy === null ? 'ok  ' : 'FIX '} ${subject}: ${state}${remedy === null ? '' : `\n     ${remedy}`}`,
          )
          if (remedy !== null) shell.exitCode = 1
        }
      }),
    )
}
