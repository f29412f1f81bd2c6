import { Page } from '../../components/page.tsx'

export function RegisterPage() {
  return <Page title="RegisterPage">{null}</Page>
}
