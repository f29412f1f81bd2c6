import { Option } from 'commander'
import type { Command } from 'commander'
import { invitationRoles } from '../../base/roles.ts'
import type { InvitationRole } from '../../base/roles.ts'
import { closeOrganizationForGood } from '../../features/operators/close-organization.ts'
import { giveDomain, listDomains, takeDomain } from '../../features/domains/manage-domains.ts'
import { listOperators } from '../../features/accounts/operator-grant.ts'
import { disableUser } from '../../features/operators/disable-user.ts'
import { findActions, findOrganizations, findUsers } from '../../features/operators/find.ts'
import { grantOperatorTo, revokeOperatorFrom } from '../../features/operators/operator-grants.ts'
import { identifyOperator } from '../../features/operators/operator.ts'
import { resetFactorsOf } from '../../features/operators/reset-second-factors.ts'
import { setLimit } from '../../features/operators/set-limit.ts'
import { resumeOrganization, suspendOrganization } from '../../features/operators/suspend.ts'
import { unlinkIdentitiesOf } from '../../features/operators/unlink-identities.ts'
import { parseId, wholeNumber } from './shell.ts'
import type { Shell } from './shell.ts'

interface DomainOptions {
  role: InvitationRole
  remove?: true
}

/** Adds the commands that find, suspend, limit and close organizations. */
export function addOrganizationCommands(program: Command, shell: Shell): void {
  const organization = program
    .command('organization')
    .description('Find, suspend, limit and close organizations')
  organization
    .command('find <text>')
    .description('list organizations by id, slug or part of the name')
    .action((text: string) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findOrganizations(db, text))),
    )
  organization
    .command('suspend')
    .argument('<id>', 'id of the organization', parseId)
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--grace <minutes>', 'time until the deployments end', wholeNumber(43_200), 60)
    .description('let the members only read; email the admins, then end the deployments')
    .action((id: number, { reason, grace }: { reason: string; grace: number }) =>
      shell.withApplication(async (application) => {
        await suspendOrganization(application, identifyOperator(), id, { reason, graceMinutes: grace })
        shell.print(`Suspended. Its deployments end in ${grace} minutes unless you resume it.`)
      }),
    )
  organization
    .command('resume')
    .argument('<id>', 'id of the organization', parseId)
    .description('end a suspension')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await resumeOrganization(application, identifyOperator(), id)
        shell.print('Resumed.')
      }),
    )
  organization
    .command('limit')
    .argument('<id>', 'id of the organization', parseId)
    .argument('<number>', 'most deployments at once', wholeNumber(1_000_000))
    .description('set how many deployments it may have at once')
    .action((id: number, limit: number) =>
      shell.withApplication(async (application) => {
        await setLimit(application, identifyOperator(), id, limit)
        shell.print(`It may have ${limit} deployments at once.`)
      }),
    )
  organization
    .command('domains')
    .argument('[domain]', 'such as corp.example')
    .argument('[id]', 'id of the organization', parseId)
    .addOption(new Option('--role <role>', 'of those who join').choices(invitationRoles).default('member'))
    .option('--remove', 'let nobody else join by the domain')
    .description('list the domains whose people join an organization, or give one a domain')
    .action((domain: string | undefined, id: number | undefined, options: DomainOptions) =>
      shell.withApplication(async (application) => {
        if (domain === undefined) return shell.printRows(await listDomains(application))
        if (options.remove === true) {
          await takeDomain(application, identifyOperator(), domain)
          return shell.print(
            'Removed. Nobody else joins by this domain, unless ORGANIZATION_DOMAINS lists it.',
          )
        }
        if (id === undefined) return shell.fail('Name the id of the organization too, or --remove.')
        await giveDomain(application, identifyOperator(), domain.toLowerCase(), id, options.role)
        shell.print(`People with a verified address of ${domain.toLowerCase()} can join.`)
      }),
    )
  organization
    .command('close')
    .argument('<id>', 'id of the organization', parseId)
    .requiredOption('--yes', 'confirm: this cannot be undone')
    .description('end its deployments and close it and its billing account for good')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await closeOrganizationForGood(application, identifyOperator(), id)
        shell.print('Closed.')
      }),
    )
}

/** Adds the commands that find, disable, enable and reset users. */
export function addUserCommands(program: Command, shell: Shell): void {
  const user = program.command('user').description('Find, disable, enable and reset users')
  user
    .command('find <text>')
    .description('list users by id or part of the email or name')
    .action((text: string) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findUsers(db, text))),
    )
  for (const [verb, disabled, done] of [
    ['disable', true, 'Disabled. The sessions have ended.'],
    ['enable', false, 'Enabled.'],
  ] as const) {
    user
      .command(verb)
      .argument('<id>', 'id of the user', parseId)
      .description(disabled ? 'end all sessions and refuse sign-ins' : 'allow sign-ins again')
      .action((id: number) =>
        shell.withApplication(async (application) => {
          await disableUser(application, identifyOperator(), id, disabled)
          shell.print(done)
        }),
      )
  }

  user
    .command('reset-factors')
    .argument('<id>', 'id of the user', parseId)
    .description('remove all second factors, end all sessions and email the user')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await resetFactorsOf(application, identifyOperator(), id)
        shell.print('Reset. The sessions have ended, and the user can sign in with the password alone.')
      }),
    )

  user
    .command('unlink')
    .argument('<id>', 'id of the user', parseId)
    .description('remove the links to identity providers, end all sessions and email the user')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await unlinkIdentitiesOf(application, identifyOperator(), id)
        shell.print(
          'Unlinked. The next sign-in through the provider with the address of the user links again.',
        )
      }),
    )
}

/** Adds the commands that say who may see the whole installation in the console. */
export function addOperatorCommands(program: Command, shell: Shell): void {
  const operator = program
    .command('operator')
    .description('Let people see machines, waiting deployments, health and organizations in the console')
  operator
    .command('grant <email>')
    .description('allow it to the person with this email, who needs a second factor for it')
    .action((email: string) =>
      shell.withApplication(async (application) => {
        const isNew = await grantOperatorTo(application, identifyOperator(), email)
        shell.print(isNew ? 'Granted. The person needs a second factor.' : 'Granted before.')
      }),
    )
  operator
    .command('revoke <email>')
    .description('end it at once')
    .action((email: string) =>
      shell.withApplication(async (application) => {
        const had = await revokeOperatorFrom(application, identifyOperator(), email)
        shell.print(had ? 'Revoked.' : 'The person was no operator.')
      }),
    )
  operator
    .command('list')
    .description('list who may')
    .action(() => shell.withApplication(async ({ db }) => shell.printRows(await listOperators(db))))
}

/** Adds the command that reads the audit log. */
export function addAuditCommands(program: Command, shell: Shell): void {
  program
    .command('audit')
    .description('Read the audit log')
    .command('list')
    .option('--organization <id>', 'only this organization', parseId)
    .option('--limit <number>', 'most rows', wholeNumber(10_000), 50)
    .description('list the newest actions of all organizations')
    .action((options: { organization?: number; limit: number }) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findActions(db, options))),
    )
}
