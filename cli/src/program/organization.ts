import { Option } from 'commander'
import type { Command } from 'commander'
import { day, examples, lazily, timeFrom, timeTo, wholeNumber } from './define.ts'

/** Defines `usage`, `bill`, `budgets`, `members`, `teams`, `service-members`, `invite` and `audit`. */
export function defineOrganizationCommands(program: Command): void {
  defineMoneyCommands(program)
  program
    .command('members')
    .description('List the members of your organization')
    .addHelpText('after', examples('berth members'))
    .action(lazily(async () => (await import('../commands/people.ts')).listMembers))
  defineTeamCommands(program)
  defineServiceMemberCommands(program)
  program
    .command('invite')
    .description('Invite a person to your organization')
    .argument('<email>', 'where the invitation goes')
    .addOption(
      new Option('--role <role>', 'what they may do')
        .choices(['viewer', 'member', 'admin'])
        .default('member'),
    )
    .addHelpText('after', examples('berth invite grace@example.com --role admin'))
    .action(lazily(async () => (await import('../commands/people.ts')).invite))
  program
    .command('audit')
    .description('Show who did what in your organization, newest first')
    .option('-n, --limit <number>', 'number of entries, up to 500', wholeNumber, 50)
    .option('--action <action>', 'only this action, such as deployment.created')
    .option('--from <time>', 'only from this UTC day or time on, such as 2026-01-02T03:04:05Z', timeFrom)
    .option('--to <time>', 'only up to this day, or before this time', timeTo)
    .addHelpText('after', examples('berth audit', 'berth audit --action deployment.created --json'))
    .action(lazily(async () => (await import('../commands/people.ts')).audit))
}

function defineTeamCommands(program: Command): void {
  const teams = program
    .command('teams')
    .description('List the teams of your organization, with whom deployments can be shared')
    .addHelpText('after', examples('berth teams', 'berth teams add Research ada@example.com'))
    .action(lazily(async () => (await import('../commands/teams.ts')).listTeams))
  teams
    .command('add')
    .description('Add a team')
    .argument('<name>', 'what people call the team')
    .argument('[emails...]', 'its members')
    .addHelpText('after', examples('berth teams add Research ada@example.com grace@example.com'))
    .action(lazily(async () => (await import('../commands/teams.ts')).addTeam))
  teams
    .command('members')
    .description('Add members to a team, or take them out')
    .argument('<name>', 'the team')
    .argument('<emails...>', 'members of your organization')
    .option('--out', 'take them out')
    .addHelpText('after', examples('berth teams members Research ada@example.com --out'))
    .action(lazily(async () => (await import('../commands/teams.ts')).changeTeam))
  teams
    .command('rm')
    .description('Delete a team: what is shared with it is not anymore')
    .argument('<name>', 'the team')
    .addHelpText('after', examples('berth teams rm Research'))
    .action(lazily(async () => (await import('../commands/teams.ts')).removeTeam))
}

function defineServiceMemberCommands(program: Command): void {
  const services = program
    .command('service-members')
    .description('List the programs that are members of your organization')
    .addHelpText('after', examples('berth service-members', 'berth service-members rotate 7'))
    .action(lazily(async () => (await import('../commands/service-members.ts')).listServiceMembers))
  services
    .command('add')
    .description('Add a program, and print its email and password once')
    .argument('<name>', 'what people call the program')
    .requiredOption('--network <networks...>', 'where it may work from, such as 10.0.0.0/8')
    .addOption(new Option('--role <role>', 'what it may do').choices(['viewer', 'member']).default('member'))
    .option('--may-name-members', 'let its requests name the member they are for')
    .option('--member-header <name>', 'a header that does so besides X-Berth-Member')
    .addHelpText(
      'after',
      examples(
        'berth service-members add "Nightly report" --network 10.0.0.0/8',
        'berth service-members add WebUI --network 10.0.0.9 --may-name-members --member-header X-OpenWebUI-User-Email',
      ),
    )
    .action(lazily(async () => (await import('../commands/service-members.ts')).addServiceMember))
  services
    .command('update')
    .description('Change where a program may work from, or whether it may name members')
    .argument('<id>', 'the ID in the list', wholeNumber)
    .option('--network <networks...>', 'where it may work from, in place of the networks before')
    .option('--may-name-members', 'let its requests name the member they are for')
    .option('--no-may-name-members', 'ignore whom its requests name')
    .option('--member-header <name>', 'a header that names the member besides X-Berth-Member')
    .addHelpText('after', examples('berth service-members update 7 --may-name-members'))
    .action(lazily(async () => (await import('../commands/service-members.ts')).updateServiceMember))
  services
    .command('rotate')
    .description('Give a program a new password, and print it once')
    .argument('<id>', 'the ID in the list', wholeNumber)
    .option('--now', 'end the old password and all sessions at once')
    .addHelpText('after', examples('berth service-members rotate 7', 'berth service-members rotate 7 --now'))
    .action(lazily(async () => (await import('../commands/service-members.ts')).rotatePassword))
  services
    .command('rm')
    .description('Remove a program: its sessions and its account end')
    .argument('<id>', 'the ID in the list', wholeNumber)
    .option('--end-deployments', 'terminate its deployments too')
    .addHelpText(
      'after',
      examples('berth service-members rm 7', 'berth service-members rm 7 --end-deployments'),
    )
    .action(lazily(async () => (await import('../commands/service-members.ts')).removeServiceMember))
}

function defineMoneyCommands(program: Command): void {
  program
    .command('usage')
    .description('Show the usage of your organization')
    .addOption(
      new Option('--by <group>', 'what each line stands for').choices([
        'day',
        'team',
        'member',
        'deployment',
        'model',
      ]),
    )
    .option('--from <day>', 'first UTC day, such as 2026-01-02', day)
    .option('--to <day>', 'last UTC day', day)
    .addHelpText('after', examples('berth usage', 'berth usage --by member --from 2026-01-01'))
    .action(lazily(async () => (await import('../commands/usage.ts')).usage))
  const bill = program
    .command('bill')
    .description('Show the plan, the usage so far and the invoices')
    .addHelpText('after', examples('berth bill', 'berth bill verify proof.json'))
    .action(lazily(async () => (await import('../commands/bill.ts')).bill))
  bill
    .command('proof')
    .description('Print the document from which anybody can recompute a bill')
    .option('--invoice <id>', 'the proof of this invoice')
    .option('--from <time>', 'the usage from this UTC day or hour on, such as 2026-01-01', timeFrom)
    .option('--to <time>', 'the usage up to this day, or before this hour', timeTo)
    .addHelpText('after', examples('berth bill proof --invoice in_1 > proof.json'))
    .action(lazily(async () => (await import('../commands/bill.ts')).printProof))
  bill
    .command('verify')
    .description('Recompute the proof of a bill, without a server')
    .argument('<file>', 'a document of `berth bill proof`')
    .addHelpText('after', examples('berth bill verify proof.json'))
    .action(lazily(async () => (await import('../commands/bill.ts')).verifyBill))
  program
    .command('budgets')
    .description('List the budgets that limit your organization, or your deployments')
    .addHelpText('after', examples('berth budgets'))
    .action(lazily(async () => (await import('../commands/budgets.ts')).listBudgets))
}
