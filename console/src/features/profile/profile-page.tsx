import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { profileQuery } from '../../domain/session/profile-query.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { ProfileForm } from './profile-form.tsx'
import { SignInSection } from './sign-in-section.tsx'

// Below the first screen
const SecuritySections = lazyPart(() =>
  import('./other-sections.tsx').then((module) => module.SecuritySections),
)
const OtherSections = lazyPart(() => import('./other-sections.tsx').then((module) => module.OtherSections))

/** The person's account: profile, sign-in, sessions, pending invitations, theme and data. */
export function ProfilePage() {
  const query = useQuery(profileQuery)
  return (
    <Page {...text.pages.profile}>
      <div className="grid max-w-2xl gap-6">
        <Loaded query={query} loading={<LoadingProfile />}>
          {(profile) => (
            <>
              <ProfileForm profile={profile} />
              <SignInSection profile={profile} />
              <Suspense>
                <SecuritySections profile={profile} />
              </Suspense>
            </>
          )}
        </Loaded>
        <Suspense>
          <OtherSections profile={query.data} />
        </Suspense>
      </div>
    </Page>
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
