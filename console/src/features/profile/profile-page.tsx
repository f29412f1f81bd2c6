import { useQuery } from '@tanstack/react-query'
import { Page, Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { profileQuery } from '../../domain/session/profile-query.ts'
import { text } from '../../text/index.ts'
import { chooseTheme, useTheme } from '../../theme.ts'
import { DataSection } from './data-section.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { OwnInvitations } from './own-invitations.tsx'
import { ProfileForm } from './profile-form.tsx'
import { ScriptSessionsSection } from './script-sessions-section.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { SignInSection } from './sign-in-section.tsx'

/** The person's account: profile, sign-in, sessions, pending invitations, theme and data. */
export function ProfilePage() {
  const profile = useQuery(profileQuery)
  const passwords = usePasswordsAllowed()
  return (
    <Page {...text.pages.profile}>
      <div className="grid max-w-2xl gap-6">
        {profile.data ? (
          <>
            <ProfileForm profile={profile.data} />
            <SignInSection profile={profile.data} />
            {passwords && profile.data.has_password && <SecondFactorSection />}
            <IdentitiesSection hasPassword={profile.data.has_password} />
            <SessionsSection />
            <ScriptSessionsSection />
          </>
        ) : profile.error ? (
          <Section>
            <ErrorState error={profile.error} onRetry={() => void profile.refetch()} />
          </Section>
        ) : (
          <LoadingProfile />
        )}
        <OwnInvitations />
        <Appearance />
        {profile.data && <DataSection profile={profile.data} />}
      </div>
    </Page>
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

function LoadingProfile() {
  return (
    <>
      <Section title={text.profile.about} description={text.profile.aboutDescription}>
        <div role="status" aria-label={text.common.loading} className="grid gap-4">
          {['name', 'names', 'rest'].map((row) => (
            <div key={row} className="grid gap-1.5">
              <Skeleton className="h-5 w-24" />
              <Skeleton className="h-9 rounded-md" />
            </div>
          ))}
          <Skeleton className="h-9 w-16 rounded-md" />
        </div>
      </Section>
      <Section title={text.profile.signingIn}>
        <Skeleton className="h-36" />
      </Section>
    </>
  )
}
