import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toUrl } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import type { Profile, OwnSession } from '../../contract.ts'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { describeUserAgent } from '../../domain/session/user-agent.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { chooseTheme, useTheme } from '../../theme.ts'
import { DeleteAccountDialog } from './delete-account-dialog.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { NotificationsSection } from './notifications-section.tsx'
import { OwnInvitations } from './own-invitations.tsx'
import { sessionsQuery } from '../../domain/session/sessions-query.ts'
import { SecondFactorSection } from './second-factor-section.tsx'
import { sections } from './sections.ts'
import { SessionRow } from './session-row.tsx'
import { SessionsSection } from './sessions-section.tsx'

const words = text.scriptSessions

/** Second factors, identities, sessions, and how to install the command line. */
export function SecuritySections({ profile }: { profile: Profile }) {
  const passwords = usePasswordsAllowed()
  return (
    <>
      {passwords && profile.has_password && <SecondFactorSection />}
      <IdentitiesSection hasPassword={profile.has_password} />
      <SessionsSection />
      <ScriptSessionsSection />
      <CommandLineSection />
    </>
  )
}

/** Invitations, the theme, and the data of the account. */
export function OtherSections({ profile }: { profile: Profile | undefined }) {
  return (
    <>
      <OwnInvitations />
      <Appearance />
      <NotificationsSection />
      {profile && <DataSection profile={profile} />}
    </>
  )
}

/** The person's sessions for scripts, with buttons to create one and to end each. */
function ScriptSessionsSection() {
  const query = useQuery({
    ...sessionsQuery,
    select: (sessions) => sessions.filter(({ kind }) => kind === 'script'),
  })
  return (
    <Section
      id={sections.scriptSessions}
      flush
      title={words.listTitle}
      description={words.listDescription}
      actions={<ScriptSessionButton />}
    >
      <Loaded query={query} rows={1}>
        {(scripts) => (
          <ul className="divide-y">
            {scripts.length === 0 && <li className="px-5 py-4 text-muted">{words.none}</li>}
            {scripts.map((session) => (
              <SessionRow
                key={session.id}
                session={session}
                title={session.name}
                facts={describeUse(session)}
                endLabel={words.endOf(session.name ?? '')}
              />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}

function describeUse({ address, user_agent, last_seen_at, expires_at }: OwnSession): string {
  const until = formatRelative(expires_at)
  if (address === null) return words.unused(until)
  return words.used(describeUserAgent(user_agent), address, formatRelative(last_seen_at), until)
}

/** How to install the command line from this server. */
function CommandLineSection() {
  const { commandLine, commandLineDescription, commandLineCommands } = text.profile
  return (
    <Section id={sections.commandLine} title={commandLine} description={commandLineDescription}>
      <CodeBlock
        wrap
        label={commandLineCommands}
        code={`npm install --global ${location.origin}/downloads/berth-cli.tgz\nberth login ${location.origin}`}
      />
    </Section>
  )
}

/** Downloads the person's data, or deletes the account. */
function DataSection({ profile }: { profile: Profile }) {
  const [deleting, setDeleting] = useState(false)
  return (
    <Section id={sections.data} title={text.profile.data} description={text.profile.dataDescription}>
      <div className="flex flex-wrap gap-3">
        <Button asChild>
          <a href={toUrl('/v1/user/export')} download>
            {text.profile.export}
          </a>
        </Button>
        <Button variant="danger" onClick={() => setDeleting(true)}>
          {text.profile.deleteAccount}
        </Button>
      </div>
      {deleting && <DeleteAccountDialog profile={profile} onClose={() => setDeleting(false)} />}
    </Section>
  )
}

function Appearance() {
  const theme = useTheme()
  return (
    <Section title={text.profile.appearance} description={text.profile.appearanceDescription}>
      <SegmentedControl
        label={text.shell.theme}
        value={theme}
        onValueChange={chooseTheme}
        options={(['system', 'light', 'dark'] as const).map((value) => ({
          value,
          label: text.shell.themes[value],
        }))}
      />
    </Section>
  )
}
