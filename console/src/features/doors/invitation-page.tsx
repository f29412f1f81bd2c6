import { Page } from '../../components/page.tsx'

export function InvitationPage() {
  return <Page title="InvitationPage">{null}</Page>
}
