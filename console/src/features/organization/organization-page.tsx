import { Page } from '../../components/page.tsx'

export function OrganizationPage() {
  return <Page title="OrganizationPage">{null}</Page>
}
