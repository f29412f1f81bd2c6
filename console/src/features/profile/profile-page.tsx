import { Page } from '../../components/page.tsx'

export function ProfilePage() {
  return <Page title="ProfilePage">{null}</Page>
}
