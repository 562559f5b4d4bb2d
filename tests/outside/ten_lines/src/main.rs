use warpfold::{Device, Sum};

fn main() -> Result<(), warpfold::Error> {
    let gpu = Device::auto()?;
    let numbers: Vec<f32> = (1..=1000).map(|n| n as f32).collect();
    let total = gpu.reduce(&numbers, Sum)?;
    println!("1 + 2 + ... + 1000 = {total}, on {}", gpu.info().name);
    assert_eq!(total, 500_500.0);
    Ok(())
}
