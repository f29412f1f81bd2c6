import type { Command } from 'commander'
import { examples, lazily } from './define.ts'

/** Defines `login`, `logout`, `whoami`, `orgs` and `switch`. */
export function defineSessionCommands(program: Command): void {
  program
    .command('login')
    .description('Sign in to a server')
    .argument('[url]', 'address of the server; the last one by default, else http://localhost:8080')
    .option('-e, --email <email>', 'email of the account')
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--code <code>', 'code of an authenticator app, or a recovery code')
    .option('--sso', 'sign in through single sign-on or a passkey, with a session from the account page')
    .addHelpText(
      'after',
      examples(
        'berth login https://berth.example.com',
        'berth login --email ada@example.com --password-stdin < password.txt',
        'berth login --sso https://berth.example.com',
      ),
    )
    .action(lazily(async () => (await import('../commands/login.ts')).login))
  program
    .command('logout')
    .description('Sign out, and forget the session')
    .addHelpText('after', examples('berth logout'))
    .action(lazily(async () => (await import('../commands/logout.ts')).logout))
  program
    .command('whoami')
    .description('Show who is signed in, and where')
    .addHelpText('after', examples('berth whoami', 'berth whoami --json'))
    .action(lazily(async () => (await import('../commands/whoami.ts')).whoami))
  program
    .command('orgs')
    .description('List your organizations')
    .addHelpText('after', examples('berth orgs'))
    .action(lazily(async () => (await import('../commands/organizations.ts')).listOrganizations))
  program
    .command('switch')
    .description('Make another organization your current one, in all your sessions')
    .argument('<organization>', 'its slug, name or id')
    .addHelpText('after', examples('berth switch analytical-engines'))
    .action(lazily(async () => (await import('../commands/organizations.ts')).switchOrganization))
}
