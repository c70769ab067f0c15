() => {
  // the columns of the table as they are printed, the logit last, and the logit as the server sent it
  const rows = ".waterfall > tbody > tr:not(.behind) ";
  const column = (name) => [...document.querySelectorAll(`${rows} .${name} data`)].map((one) => one.textContent);
  const logit = document.querySelector("tr.logit .value data").value;
  return { now: column("value"), was: column("was"), total: column("total"), logit };
};
