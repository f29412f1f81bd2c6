import { Page } from '../../components/page.tsx'

export function CompleteProfilePage() {
  return <Page title="CompleteProfilePage">{null}</Page>
}
