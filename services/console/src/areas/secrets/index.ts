export { default } from './Secrets.svelte';
